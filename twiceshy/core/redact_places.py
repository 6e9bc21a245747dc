"""Who and where: addresses of machines and people, names of users, accounts and pods."""

from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import Any

import re2

from twiceshy.core.redact_spans import PERSONAL, Accept, Rule, compiled, first_group, has_digit, shape

PUBLIC_ADDRESSES = frozenset("127.0.0.1 0.0.0.0 255.255.255.255 169.254.169.254 :: ::1".split())
"""Kept: they name no machine (loopback, any, broadcast, the cloud's metadata service)."""

SYSTEM_USERS = frozenset(
    """root admin administrator postgres mysql redis mongodb kafka zookeeper ubuntu ec2-user debian centos core
    vagrant www-data nobody nginx apache httpd daemon bin sys system systemd-resolve service git jenkins runner
    gitlab-runner deploy app application api web worker node user users username name default anonymous guest test
    public null none unknown oracle elastic grafana prometheus rabbitmq airflow hadoop hdfs spark yarn hive backup
    operator bot github-actions docker kube kubernetes consul vault nomad celery django rails sa dbo shared
    runneradmin linuxbrew circleci""".split()
)
"""Accounts that are no person's, so that what they did can be told."""

_NO_USER = frozenset(
    """is was has had are were be been being will would can could may might must should not no and or but if the a an
    failed failure succeeded successful missing expired invalid required denied rejected refused locked disabled unknown
    to in on of for from with by at as who that this these those which when where while because does did do accounts
    account access actions activity agents authentication authorization auth behavior behaviour complaints config
    configuration connections content creation credentials data database details devices error errors events
    experience feedback files flow flows groups group id ids impact info information input interactions login logins
    lookups management messages metadata notifications operations orders pages password passwords payments
    permissions policies policy preferences profile profiles projects queries records registration reports request
    requests response role roles satisfaction search service services session sessions settings sign-in sign-ins
    sign-up sign-ups signups space state storage support systems tables tasks tests text time token tokens traffic
    transactions uploads usage values visits workflows workloads workspaces""".split()
)
"""Words that stand where a user's name would."""

_VERSION_SIGNS = ("-", "_", "~", "^", "==", ">=", "<=", "~=", "~> ")
_VERSION_WORDS = ("version", "ver", "release", "build", "rev", "firmware", "chart", "upgraded to", "downgraded to")
_PRODUCTS = tuple(
    """chrome safari firefox version edg opr nginx apache httpd openssl java jdk jre openjdk tomcat mozilla webkit
    postgres postgresql mysql mariadb redis kafka oracle jenkins nexus sonarqube elasticsearch kibana
    node npm""".split()
)
_MAJOR_MAX = 40
_UNITS = frozenset("ns us ms s b kb mb gb".split())
_UNIT_LABELS = tuple("service svc socket timer mount target slice scope device local internal cluster swap".split())
_SERVICE_PARTS = frozenset(
    """service svc sa rw ro reader writer readonly readwrite admin app api bot worker runner agent exporter operator
    controller scheduler job jobs cron db system replication replicator owner migrator viewer editor role""".split()
)
"""Parts of the names of accounts that are a program's and not a person's."""

_UNIT_ENDS = tuple(f".{label}" for label in _UNIT_LABELS)
_MAC_WORD = compiled("mac|ether|hw|lladdr|bssid|station")
_DATE = compiled(r"\+?[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CALLED = compiled("tel|phone|call|mobile|fax|sms|dial|number|reach|whatsapp|contact|pager")
_NUMBER_ENDS = tuple("0123456789")
_IPV6_STARTS = ("fe80:", "fd", "fc", "ff0", "2")
_CONTEXT_BYTES = 24


def _around(match: Any) -> tuple[str, str]:
    """What stands before and after a value."""
    start, end = match.span(1)
    text: bytes = match.string
    before = text[max(0, start - _CONTEXT_BYTES) : start].decode(errors="replace")
    return before, text[end : end + 3].decode(errors="replace")


def _ipv4(match: Any) -> tuple[int, int] | None:
    """An address and not a version: four numbers below 256, and nothing before them that speaks of versions."""
    span: tuple[int, int] = match.span(1)
    address: str = match.group(1).decode()
    parts = address.split(".")
    if len(parts) != 4 or any(int(part) > 255 or (len(part) > 1 and part[0] == "0") for part in parts):
        return None
    if address in PUBLIC_ADDRESSES or address.startswith("255.255."):
        return None
    before, after = _around(match)
    if before.endswith(_NUMBER_ENDS) or after[:1].isalpha():
        return None
    private = parts[0] == "10" or address.startswith(("192.168.", "172."))
    addressed = private or (after.startswith((":", "/")) and after[1:2].isdigit())
    named = before.lower().rstrip().endswith(_PRODUCTS) or (after[:1] == "-" and after[1:2].isalpha())
    product = named and not addressed and int(parts[0]) < _MAJOR_MAX
    return None if product or _version(before, addressed) else span


def _version(before: str, addressed: bool) -> bool:
    """Whether four numbers are a version, by what is before them. ``addressed``: they look like an address."""
    if before.endswith(("v", "V")) and not before[-2:-1].isalnum():
        return True
    words = before.lower().rstrip(" :=\"'")
    if words.endswith(_VERSION_WORDS) or (before.endswith("/") and words[:-1].endswith(_PRODUCTS)):
        return True
    return not addressed and before.endswith(_VERSION_SIGNS)


def _ipv6(match: Any) -> tuple[int, int] | None:
    """An address that parses, and is neither a time, a C++ name nor a fingerprint."""
    start, end = match.span(1)
    text = match.group(1).decode()
    if text.endswith(":") and not text.endswith("::"):
        text, end = text[:-1], end - 1
    if text in PUBLIC_ADDRESSES or (text.count(":") < 3 and not text.lower().startswith(_IPV6_STARTS)):
        return None
    before, after = _around(match)
    if before[-1:].isalnum() or before.endswith(("_", ":", ".")) or after.startswith(("_", ":")) or after[:1].isalpha():
        return None
    try:
        IPv6Address(text)
    except ValueError:
        return None
    timed = not set(text) - set("0123456789:") and all(len(group) <= 2 for group in text.split(":"))
    return (start, end) if any(map(str.isdigit, text)) and not (timed and not text.startswith(":")) else None


def _mac(match: Any) -> tuple[int, int] | None:
    """Six bytes, and no part of a longer fingerprint."""
    span: tuple[int, int] = match.span(1)
    before, after = _around(match)
    longer = before.endswith((":", "-")) or (after.startswith((":", "-")) and after[1:2].isalnum())
    bounded = not longer and not before[-1:].isalnum() and not after[:1].isalnum()
    if not bounded or set(match.group(1)) <= set(b"0:-.") or not has_digit(match.group(1)):
        return None
    decimal = not match.group(1).translate(None, b"0123456789:-.")
    # Six numbers of two digits are also a time, or a path of a device.
    return None if decimal and not _MAC_WORD.search(before.lower().encode()) else span


def _email(match: Any) -> tuple[int, int] | None:
    """An address of a person; `git@host` is a way to a repository."""
    span: tuple[int, int] = match.span(1)
    address = match.group(1).lower().decode()
    # `user@1000.service` is a unit of systemd, and `redis@redis-master.cache.svc` a way to a program.
    return None if address.startswith("git@") or address.endswith(_UNIT_ENDS) else span


def _one_group(match: Any) -> tuple[int, int]:
    spans: list[tuple[int, int]] = [match.span(index) for index in range(1, match.re.groups + 1)]
    return next(span for span in spans if span[0] >= 0)


def _user(match: Any) -> tuple[int, int] | None:
    """A person's name: no account of a system, and no word of a sentence."""
    start, end = _one_group(match)
    end = start + len(match.string[start:end].rstrip(b".-"))
    name = match.string[start:end].decode(errors="replace").lower()
    if not name or name in SYSTEM_USERS or name in _NO_USER or name.isdigit():
        return None
    parts = name.replace("_", "-").replace(".", "-").split("-")
    return None if len(parts) > 1 and not _SERVICE_PARTS.isdisjoint(parts) else (start, end)


def _pod(match: Any) -> tuple[int, int] | None:
    """The suffix that a ReplicaSet gives: a hash, of letters and digits, and five letters that are no vowels."""
    span: tuple[int, int] = match.span(1)
    letters = match.group(1).split(b"-")[0]
    return None if letters.isdigit() or letters.isalpha() else span


def _uncalled(number: bytes, before: str) -> bool:
    """Whether nothing says that three groups of digits are called: no plus, no bracket and no word before them."""
    return not number.startswith((b"+", b"(")) and not _CALLED.search(before.lower().encode())


def _phone(match: Any) -> tuple[int, int] | None:
    """A number with as many digits as numbers of telephones have, and no part of a longer one."""
    span: tuple[int, int] = match.span(1)
    before, after = _around(match)
    digits = sum(48 <= byte < 58 for byte in match.group(1))
    if before[-1:].isalnum() or before.endswith((".", "-", "_", "/", "=")) or not 10 <= digits <= 15:
        return None
    if after.lower().strip() in _UNITS or _DATE.match(match.group(1)) or _uncalled(match.group(1), before):
        return None
    return None if after[:1].isalnum() or (after.startswith(("-", ".")) and after[1:2].isdigit()) else span


_USER = r"[A-Za-z_][A-Za-z0-9_.-]{1,31}"
_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
_FOLLOWS = r"from|at|on|via|in|with|by|failed|was|is|has|had|due|after|before|during"
_USERS = (
    rf"(?i)\buser(?:[_-]?name)?[\"']?(?:=|:=)[\"']?({_USER})"
    rf"|\b(?:user[_-]?name|login|logname)[\"']?[ \t]*:[ \t]*[\"']?({_USER})"
    rf"|[\"']user[\"'][ \t]*:[ \t]*[\"']({_USER})"
    rf"|\bfor (?:invalid )?user ({_USER})(?:[.,;:)]|$|[\n\x00]| (?:{_FOLLOWS})\b)"
    rf"|\b(?:role|user) [\"']({_USER})[\"']"
    rf"|(?-i:/home/({_USER})|/Users/({_USER})|\\Users\\+({_USER}))"
    rf"|\b(?:ssh|scp|sftp|rsync|mosh)\b[^\n\x00|;@]{{0,80}} ({_USER})@[A-Za-z0-9<]"
    rf"|\bsudo(?:\[[0-9]+\])?: +({_USER}) :|\bsu - ({_USER})|\blogged in as [\"']?({_USER})"
    rf"|\b(?:password|publickey|keyboard-interactive(?:/pam)?) for (?:invalid user )?({_USER}) from "
)


def _suffix(match: Any) -> tuple[int, int] | None:
    """Five letters, as long as the suffix of a pod is."""
    span: tuple[int, int] = match.span(1)
    return span if span[1] - span[0] == 5 else None


def _place(kind: str, hint: str, pattern: str, accept: Accept = first_group) -> Rule:
    return shape(kind, hint, pattern, PERSONAL, accept)


RULES: tuple[Rule, ...] = (
    _place(
        "email",
        r"[a-z0-9]@[a-z0-9]",
        r"([A-Za-z0-9_][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z]+)",
        _email,
    ),
    _place("ip", r"[0-9]\.[0-9]+\.[0-9]+\.[0-9]", r"([0-9]{1,3}(?:\.[0-9]{1,3}){3,})", _ipv4),
    _place(
        "ip",
        r":[0-9a-f]*:[0-9a-f]*:",
        r"((?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}))",
        _ipv6,
    ),
    _place(
        "mac",
        r"[0-9a-f][:.-][0-9a-f]{2,4}[:.-][0-9a-f]{2}",
        r"((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}"
        r"|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})",
        _mac,
    ),
    _place("host", "ip-", r"\b(ip-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}(?:\.[a-z0-9-]+)*)"),
    _place("pod", r"-[0-9a-f]{7}", rf"[a-z0-9]-([0-9a-f]{{7,10}}-{_SAFE}{{5}})\b", _pod),
    _place(
        "pod",
        "pod",
        rf"(?i:\bpods?[/ \"'`=:]+)(?:[a-z0-9-]+/)?[a-z][a-z0-9-]*-({_SAFE}*[2-9]{_SAFE}*)\b",
        _suffix,
    ),
    _place(
        "account",
        "arn:aws|account|.dkr.ecr.",
        r"(?i)(?:arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:|\baccounts?(?:[ _-]?id)?[\"']?[ \t]*[:=#]?[ \t]*[\"']?)"
        r"([0-9]{12})\b|\b([0-9]{12})\.dkr\.ecr\.",
        _one_group,
    ),
    _place("account", "/subscriptions/", r"/subscriptions/([0-9a-fA-F-]{36})"),
    _place(
        "user",
        "user|login|logname|logged in|home/|sudo|ssh|scp |sftp|rsync|mosh|su - |role \"|role '|password for|publickey",
        _USERS,
        _user,
    ),
    _place("user", "<@", r"<@([UW][A-Z0-9]{7,11})[|>]"),
    _place(
        "phone",
        r"\+[0-9(]|[0-9)][-. ][0-9]{3}[-. ][0-9]",
        r"(\+[0-9(][0-9() .-]{8,18}[0-9]|\([0-9]{3}\) ?[0-9]{3}[-. ][0-9]{4}|[0-9]{3}[-.][0-9]{3}[-.][0-9]{4})",
        _phone,
    ),
)


def internal_hosts(patterns: Sequence[str]) -> tuple[Rule, ...]:
    """The rules of a tenant's own host names. Raises ValueError with a sentence for a pattern that is none."""
    rules = []
    for pattern in patterns:
        try:
            rules.append(_place("host", r"", pattern, lambda match: match.span()))
        except re2.error as error:
            sentence = f"{pattern!r} is no pattern of internal host names: write it in RE2's syntax"
            raise ValueError(f"{sentence} ({error}).") from None
    return tuple(rules)
