"""what comes in → who says so → what guard lets them say

The tenant and the origin in a body are claims. A signature says which of them its speaker may make.
"""

from dataclasses import dataclass

from twiceshy.core.credentials import UNSIGNED, UNSIGNED_TRUST_MAX, Credential, Reserved, covers, speaks
from twiceshy.errors import PoisonError
from twiceshy.events.common import NAME_CHARS_MAX
from twiceshy.settings import Settings
from twiceshy.stream.records import Record
from twiceshy.stream.signing import SIGNATURE_HEADER, said, signature_in

MAKE_ONE = "`twiceshy credential new` makes one"


class Speakers:
    """Tells who speaks, by the credentials of the settings.

    Raises:
        NotReadyError: when it is made, a secret is not where it is said to be.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.credentials = {credential.id: credential for credential in settings.known_credentials()}
        self.reserved = Reserved(self.credentials.values(), settings.trusted_origins())

    def of(self, record: Record, earliest_ms: int, latest_ms: int) -> "Speaker":
        """Who says what is in a record, which is in binary mode. A signature may be as old and as new as told.

        Raises:
            PoisonError: it is signed, and not by who it says. What is signed badly is never taken as unsigned: its
                publisher would not learn that his word counts for less.
        """
        if SIGNATURE_HEADER not in record.headers:
            return Speaker(self, None)
        signature = signature_in(record.headers)
        if signature is None:
            raise PoisonError("bad_signature", "The signature is not of the form v1;key=ID;t=MILLISECONDS;h=HEX.")
        credential = self.credentials.get(signature.key)
        if credential is None or not speaks(signature, credential, said(record.headers, record.value)):
            raise PoisonError(
                "bad_signature",
                f"The signature is not that of a credential {signature.key!r}: see that guard knows one of that name "
                "with the secret that signs, and that nothing changes an event after it was signed.",
            )
        if not earliest_ms <= signature.at_ms <= latest_ms:
            raise PoisonError(
                "bad_signature",
                "The signature's time is too long ago, or ahead of the clock: see that the clock of whoever signs goes "
                "right, then sign and send this again.",
            )
        return Speaker(self, credential)


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whoever published an event: the holder of a credential, or someone unknown."""

    among: Speakers
    credential: Credential | None

    @property
    def signed(self) -> bool:
        return self.credential is not None

    @property
    def name(self) -> str | None:
        """The credential's id; None for the unknown."""
        return None if self.credential is None else self.credential.id

    def may_say(self, tenant: str, origin: str) -> None:
        """Refuses an incident of an origin for a tenant.

        Raises:
            PoisonError: the speaker may not say it; the sentence says whose leave it takes.
        """
        if self.credential is None:
            if not self.among.settings.takes_unsigned(tenant):
                raise PoisonError(
                    "not_allowed",
                    f"Tenant {tenant!r} takes signed events alone. Sign them with a credential for it ({MAKE_ONE}), or "
                    "list the tenant in `unsigned` of guard's twiceshy.toml.",
                )
            return
        self._must_speak_for(self.credential, tenant)
        if origin.startswith(UNSIGNED):
            raise PoisonError(
                "not_allowed",
                f"No credential speaks for names that begin with {UNSIGNED!r}: correct origin.name, or send this "
                "without a signature.",
            )
        if not covers(self.credential.origins, origin):
            raise PoisonError(
                "not_allowed",
                f"The credential {self.name!r} may not speak for this origin: add it to `origins` of "
                f"[credentials.{self.name}] in guard's twiceshy.toml, or correct origin.name.",
            )

    def may_command(self, tenant: str, kind: str) -> None:
        """Refuses a command of a kind to a tenant, or (``decide``) a decision about its quarantine.

        While there is no credential at all, whoever may write to the topic may give any command.

        Raises:
            PoisonError: the speaker may not give it; the sentence says whose leave it takes.
        """
        if self.credential is None:
            if self.among.credentials:
                raise PoisonError(
                    "not_allowed",
                    f"Commands and decisions have to be signed here, with a credential for {kind} ({MAKE_ONE}).",
                )
            return
        self._must_speak_for(self.credential, tenant)
        if not covers(self.credential.commands, kind):
            raise PoisonError(
                "not_allowed",
                f"The credential {self.name!r} is not good for {kind}: add it to `commands` of "
                f"[credentials.{self.name}] in guard's twiceshy.toml.",
            )

    def _must_speak_for(self, credential: Credential, tenant: str) -> None:
        if not covers(credential.tenants, tenant):
            raise PoisonError(
                "not_allowed",
                f"The credential {credential.id!r} may not speak for tenant {tenant!r}: add it to `tenants` of "
                f"[credentials.{credential.id}] in guard's twiceshy.toml, or correct the tenant.",
            )

    def origin(self, name: str) -> str:
        """The name under which what the speaker says is filed: the one in the event, unless it is someone else's.

        Raises:
            PoisonError: the name would become longer than a name may be.
        """
        if self.credential is not None or name not in self.among.reserved:
            return name
        if len(UNSIGNED) + len(name) > NAME_CHARS_MAX:
            chars_max = NAME_CHARS_MAX - len(UNSIGNED)
            raise PoisonError("schema", f"origin.name: has at most {chars_max} characters in an unsigned event.")
        return UNSIGNED + name

    def trust(self, origin: str, settings: Settings) -> float:
        """How far the speaker is trusted about an ``origin``, as it is filed."""
        trust = settings.trust(origin)
        return trust if self.credential is not None else min(trust, UNSIGNED_TRUST_MAX)
