"""Every setting, from one typed place: arguments, TWICESHY_…, twiceshy.toml, the running embedded stack.

No other module reads the environment or a configuration file. The first source that has a value wins.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Annotated, Any

from platformdirs import user_data_path, user_runtime_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from twiceshy.events.common import Slug, Tenant, Unit

CURRENT_STACK = "stack.json"


def current_stack_file() -> Path:
    """Where the running embedded stack says where it listens: the user's runtime folder."""
    override = os.environ.get("TWICESHY_RUNTIME_DIR")
    if override:
        return Path(override) / CURRENT_STACK
    with warnings.catch_warnings():
        # Where no runtime folder is set, platformdirs falls back to a temporary one, which serves as well.
        warnings.simplefilter("ignore")
        return user_runtime_path("twiceshy", appauthor=False) / CURRENT_STACK


def default_data_folder() -> Path:
    return user_data_path("twiceshy", appauthor=False)


class KafkaSecurity(BaseModel):
    """How to log in to the broker; the names and values are those of Kafka's own clients."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Annotated[str, Field(pattern="^(PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)$")] = "PLAINTEXT"
    mechanism: Annotated[str, Field(pattern="^(PLAIN|SCRAM-SHA-256|SCRAM-SHA-512)$")] = "PLAIN"
    username: str | None = None
    password: SecretStr | None = None
    cafile: Path | None = None


class OriginSettings(BaseModel):
    """How far an origin is trusted: the operator's word, never the event's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trust: Unit


class Settings(BaseSettings):
    """All that an operator can set. Times are in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(env_prefix="TWICESHY_", env_nested_delimiter="__", frozen=True, extra="forbid")

    kafka: str = "127.0.0.1:9092"
    kafka_security: KafkaSecurity = KafkaSecurity()
    fetch_wait_ms: Annotated[
        int, Field(ge=1, description="how long a broker may hold a fetch; Tansu sleeps half of it")
    ] = 500
    falkordb: str = "redis://127.0.0.1:6379"
    qdrant: str = "http://127.0.0.1:6333"
    qdrant_api_key: SecretStr | None = None
    embeddings: str = "http://127.0.0.1:11434/v1"
    embeddings_model: str = "bge-m3"
    embeddings_api_key: SecretStr | None = None

    tenants: Annotated[tuple[Tenant, ...], Field(min_length=1)] = ("default", "public", "demo")
    origins: dict[str, OriginSettings] = {}
    trust_default: Unit = 0.3
    many_valued: tuple[Slug, ...] = ()
    rule_incidents_min: Annotated[int, Field(ge=1)] = 3
    quarantine_hours: Annotated[float, Field(gt=0)] = 72.0
    backfill_room: Annotated[int, Field(ge=1, description="entries under way at which backfill waits")] = 200
    journal: Annotated[
        Path | None, Field(description="folder for what must outlive a broker that keeps its log in memory")
    ] = None
    embedder_patience: Annotated[float, Field(gt=0)] = 10.0
    novel_similarity: Annotated[
        Unit, Field(description="cosine similarity under which nothing in memory counts as similar")
    ] = 0.25

    def trust(self, origin: str) -> float:
        """How far ``origin`` is trusted, 0 to 1."""
        known = self.origins.get(origin)
        return known.trust if known else self.trust_default

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls, os.environ.get("TWICESHY_CONFIG", "twiceshy.toml"))
        stack = InitSettingsSource(settings_cls, init_kwargs=_running_stack())
        return init_settings, _EnvironmentSource(settings_cls), toml, stack


class _EnvironmentSource(EnvSettingsSource):
    """The environment, in which an unset variable and an empty one are the same."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls, env_ignore_empty=True)


def _running_stack() -> dict[str, Any]:
    try:
        written = json.loads(current_stack_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    settings: dict[str, Any] = written["settings"]
    return settings
