"""Every setting, from one typed place: arguments, TWICESHY_…, twiceshy.toml, the running embedded stack.

No other module reads the environment or a configuration file. The first source that has a value wins.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

from platformdirs import user_data_path, user_runtime_path
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from twiceshy.core.burst_limits import INCIDENTS_MAX, BurstLimits
from twiceshy.core.credentials import UNSIGNED_TRUST_MAX, CommandKind, Credential, covers
from twiceshy.errors import NotReadyError
from twiceshy.events.common import Name, Slug, Tenant, Unit

CURRENT_STACK = "stack.json"
QUARANTINE_HOURS_MAX = 10 * 366 * 24
SECRET_CHARS_MIN = 32


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


def _default_of_bursts(value: Any, limits: ValidatorFunctionWrapHandler) -> Any:
    """``value``, or the default where it is malformed: a slip of the pen must neither stop guard nor disarm it."""
    try:
        return limits(value)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'the whole'}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False)
        )
        warnings.warn(
            f"What the settings say of bursts cannot be used ({faults}), so its default holds. Correct [burst], or the "
            "origin's burst_max, in twiceshy.toml, or the TWICESHY_BURST… variable.",
            stacklevel=2,
        )
        return None


def _default_limits(value: Any, limits: ValidatorFunctionWrapHandler) -> Any:
    return _default_of_bursts(value, limits) or BurstLimits()


def _patterns(hosts: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    from twiceshy.core.redact_places import internal_hosts  # which costs time that most commands need not take

    for patterns in hosts.values():
        internal_hosts(patterns)
    return hosts


class OriginSettings(BaseModel):
    """How far an origin is trusted, and how many incidents of it an hour are no burst: the operator's word."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trust: Unit
    burst_max: Annotated[int | None, Field(ge=1, le=INCIDENTS_MAX), WrapValidator(_default_of_bursts)] = None


SecretReference = Annotated[str, Field(pattern="^(file|env):.", description="file:PATH or env:NAME, never a secret")]


class CredentialSettings(BaseModel):
    """What the holder of a secret may speak for. A secret is named by where it is: ``file:PATH`` or ``env:NAME``.

    ``secret`` signs; what ``previous`` ones have signed counts as well, until they are taken out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    secret: SecretReference
    previous: tuple[SecretReference, ...] = ()
    tenants: tuple[Tenant, ...] | Literal["*"] = ()
    origins: tuple[Name, ...] | Literal["*"] = ()
    commands: tuple[CommandKind, ...] | Literal["*"] = ()


class Settings(BaseSettings):
    """All that an operator can set. Times are in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(
        env_prefix="TWICESHY_",
        env_nested_delimiter="__",
        frozen=True,
        extra="forbid",
        # What is wrong with a setting is told without it: it may be a secret that stands where its place should.
        hide_input_in_errors=True,
    )

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
    credentials: dict[Slug, CredentialSettings] = {}
    credential: Annotated[Slug | None, Field(description="the credential with which this process signs")] = None
    unsigned: Annotated[
        tuple[Tenant, ...] | Literal["*"] | None,
        Field(description="tenants that take unsigned events; by default those that no credential names"),
    ] = None
    burst: Annotated[BurstLimits, WrapValidator(_default_limits)] = BurstLimits()
    internal_hosts: Annotated[
        dict[Tenant, tuple[str, ...]],
        Field(description="patterns (RE2) of the host names that a tenant keeps to itself"),
        AfterValidator(_patterns),
    ] = {}
    many_valued: tuple[Slug, ...] = ()
    rule_incidents_min: Annotated[int, Field(ge=1)] = 3
    quarantine_hours: Annotated[float, Field(gt=0, le=QUARANTINE_HOURS_MAX)] = 72.0
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

    def all_internal_hosts(self) -> tuple[str, ...]:
        """The patterns of every tenant, for text of which it is not known whose it is."""
        return tuple(pattern for patterns in self.internal_hosts.values() for pattern in patterns)

    def takes_unsigned(self, tenant: str) -> bool:
        """Whether incidents of ``tenant`` may come without a signature."""
        if self.unsigned is not None:
            return covers(self.unsigned, tenant)
        return not any(
            one.origins and one.tenants != "*" and tenant in one.tenants for one in self.credentials.values()
        )

    def trusted_origins(self) -> tuple[str, ...]:
        """The origins that are trusted further than anything unsigned is."""
        return tuple(name for name, origin in self.origins.items() if origin.trust > UNSIGNED_TRUST_MAX)

    def unvouched_origins(self) -> tuple[str, ...]:
        """Those of them for which no credential speaks, so that their trust counts for nobody."""
        scopes = [one.origins for one in self.credentials.values()]
        return tuple(name for name in self.trusted_origins() if not any(covers(scope, name) for scope in scopes))

    def known_credentials(self) -> tuple[Credential, ...]:
        """Every credential, with its secrets.

        Raises:
            NotReadyError: a secret is not where it is said to be, or too short for one.
        """
        return tuple(
            Credential(
                id=identity,
                secrets=tuple(_secret(reference) for reference in (one.secret, *one.previous)),
                tenants=one.tenants,
                origins=one.origins,
                commands=one.commands,
            )
            for identity, one in self.credentials.items()
        )

    def signing_secret(self) -> tuple[str, bytes] | None:
        """The credential's id and the secret with which this process signs; None when it does not.

        Raises:
            NotReadyError: there is no such credential, or no such secret.
        """
        if self.credential is None:
            return None
        if self.credential not in self.credentials:
            raise NotReadyError(
                f"There is no credential {self.credential!r} to sign with: add [credentials.{self.credential}] with "
                "its secret to twiceshy.toml, or take `credential` out."
            )
        return self.credential, _secret(self.credentials[self.credential].secret)

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


def _secret(reference: str) -> bytes:
    """The secret that is in a file, or in the environment, without the white space around it."""
    kind, _, name = reference.partition(":")
    try:
        text = (os.environ[name] if kind == "env" else Path(name).read_text(encoding="utf-8")).strip()
    except (KeyError, OSError, UnicodeDecodeError):
        raise NotReadyError(
            f"The secret {reference} cannot be read: put it there, or correct the credential."
        ) from None
    if len(text) < SECRET_CHARS_MIN:
        raise NotReadyError(
            f"The secret {reference} has {len(text)} characters, of {SECRET_CHARS_MIN} at least: "
            "`twiceshy credential new` makes one."
        )
    return text.encode()


class _EnvironmentSource(EnvSettingsSource):
    """The environment, in which an unset variable and an empty one are the same."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls, env_ignore_empty=True)

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            if field_name == "burst":
                return value  # which the field's own validator complains of, and no one is stopped
            raise


def _running_stack() -> dict[str, Any]:
    try:
        written = json.loads(current_stack_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    settings: dict[str, Any] = written["settings"]
    return settings
