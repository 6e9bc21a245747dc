"""Secrets that are known by their own shape: the tokens and keys of providers, key files, credentials in URLs."""

from typing import Any

from twiceshy.core.redact_spans import EXACT, GUESSED, Rule, compiled, has_digit, shape

_B64 = r"[A-Za-z0-9+/]"
_URL64 = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-f]"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

_TOKENS = (
    ("aws-key", "akia|asia|abia|acca|a3t", r"(A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16})\b"),
    ("aws-key", "absk", rf"(ABSK{_B64}{{60,}}=*)"),
    ("gcp-key", "aiza", rf"(AIza{_URL64}{{30,}})"),
    ("gcp-key", "ya29.|gocspx-", rf"(ya29\.{_URL64}{{20,}}|GOCSPX-{_URL64}{{20,}})"),
    ("gcp-key", "1//0", rf"\b(1//0{_URL64}{{20,}})"),
    ("gcp-key", "goog1|goog2", r"\b(GOOG1?[A-Z0-9]{20,60})\b"),
    ("azure-key", "q~", r"([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,40})"),
    ("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", rf"(gh[pousr]_{_ALNUM}{{20,}})"),
    ("github-token", "github_pat_", r"(github_pat_[A-Za-z0-9_]{20,})"),
    (
        "gitlab-token",
        "glpat-|gldt-|glrt-|glrtr-|glcbt-|glptt-|glft-|glimt-|glagent-|gloas-|glsoat-|glffct-",
        r"(gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{18,})",
    ),
    ("gitlab-token", "gr1348941", rf"(GR1348941{_URL64}{{20,}})"),
    ("atlassian-token", "atatt3|atctt3", r"(AT(?:ATT|CTT)3[A-Za-z0-9_=-]{20,})"),
    ("atlassian-token", "atbb", rf"(ATBB{_ALNUM}{{28,}})"),
    ("slack-token", "xox", r"(xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,})"),
    ("slack-token", "xapp-", r"(xapp-[0-9]-[A-Za-z0-9-]{10,})"),
    ("stripe-key", "k_live_|k_test_", rf"([srp]k_(?:live|test)_{_ALNUM}{{10,}})"),
    ("stripe-key", "whsec_", r"(whsec_[A-Za-z0-9+/=]{20,})"),
    ("npm-token", "npm_", rf"(npm_{_ALNUM}{{30,}})"),
    ("pypi-token", "pypi-", rf"(pypi-{_URL64}{{40,}})"),
    ("registry-token", "rubygems_|akcp", rf"(rubygems_{_HEX}{{32,}}|AKCp{_ALNUM}{{60,}})"),
    ("registry-token", "dckr_", rf"(dckr_(?:pat|oat)_{_URL64}{{20,}})"),
    ("registry-token", "oy2|cio", rf"\b(oy2[a-z0-9]{{43}}|cio{_ALNUM}{{32}})\b"),
    ("cloud-token", "_v1_", rf"(do[opr]_v1_{_HEX}{{40,}})"),
    ("cloud-token", "hrku-|nfp_|vercel_", rf"(HRKU-{_URL64}{{30,}}|nfp_{_ALNUM}{{30,}}|vercel_{_ALNUM}{{20,}})"),
    ("cloud-token", "sbp_|dapi", rf"(sbp_{_HEX}{{40}}|dapi{_HEX}{{32}}(?:-[0-9])?)"),
    ("cloud-token", "pscale_", r"(pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{20,})"),
    ("cloud-token", "v1.0-", rf"\b(v1\.0-{_HEX}{{24}}-{_HEX}{{100,}})"),
    ("cloud-token", "fm1_|fm2_|fo1_", r"\b(f(?:m[12]|o1)_[A-Za-z0-9+/=_-]{30,})"),
    ("vault-token", "hvs.|hvb.|hvr.", rf"(hv[sbr]\.{_URL64}{{20,}})"),
    ("vault-token", " s.|=s.|:s.", rf"\b(s\.{_ALNUM}{{24}})\b"),
    ("vault-token", "atlasv1", rf"({_ALNUM}{{14}}\.atlasv1\.{_URL64}{{40,}})"),
    (
        "vault-token",
        "dp.pt|dp.st|dp.ct|dp.sa|dp.scim|dp.audit",
        r"\b(dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,})",
    ),
    ("vault-token", "age-secret-key", r"(AGE-SECRET-KEY-1[A-Z0-9]{50,})"),
    ("vault-token", "ops_ey", r"(ops_eyJ[A-Za-z0-9+/=_-]{40,})"),
    ("cloud-token", "pul-", rf"\b(pul-{_HEX}{{40}})"),
    ("monitoring-token", "glsa_|glc_", rf"(glsa_{_ALNUM}{{30,}}_{_HEX}{{8}}|glc_[A-Za-z0-9+/=]{{30,}})"),
    ("monitoring-token", "sntrys_|sntryu_", r"(sntry[su]_[A-Za-z0-9+/=_-]{40,})"),
    ("monitoring-token", "nrak|nrii|nrjs|nrra|nrsp|nral", rf"\b(NR(?:AK|II|JS|RA|SP|AL)-{_URL64}{{19,}})"),
    ("monitoring-token", "dt0", r"\b(dt0[a-z][0-9]{2}\.[A-Z0-9]{20,}(?:\.[A-Z0-9]{40,})?)"),
    ("monitoring-token", "ik_", r"\b(hc[a-z]ik_[a-z0-9]{40,})"),
    ("monitoring-token", "essu_", r"\b(essu_[A-Za-z0-9+/=]{40,})"),
    ("saas-token", "pmak-", rf"(PMAK-{_HEX}{{24}}-{_HEX}{{34}})"),
    ("ai-key", "hf_|r8_|gsk_|pplx-|xai-", rf"\b((?:hf_|r8_|gsk_|pplx-|xai-){_ALNUM}{{30,}})"),
    ("mail-key", "sg.", rf"\b(SG\.{_URL64}{{16,}}\.{_URL64}{{16,}})"),
    ("mail-key", "xkeysib-", rf"(xkeysib-{_HEX}{{40,}}{_URL64}*)"),
    ("mail-key", " re_|=re_|:re_", rf"\b(re_{_ALNUM}{{8}}_{_ALNUM}{{20,}})"),
    ("chat-token", ":aa", rf"([0-9]{{8,10}}:AA{_URL64}{{30,}})"),
    ("chat-token", "eaa|aaaaaaaaaaaaaaaaaaaaa", r"(EAA[A-Za-z0-9]{60,}|AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]+)"),
    ("saas-token", "lin_api_|ntn_|secret_", rf"\b(lin_api_{_ALNUM}{{30,}}|ntn_{_ALNUM}{{30,}}|secret_{_ALNUM}{{40,}})"),
    ("saas-token", "figd_", rf"(figd_{_URL64}{{30,}})"),
    ("saas-token", "pat", rf"\b(pat{_ALNUM}{{14}}\.{_HEX}{{40,}})"),
    ("saas-token", "shpat_|shpca_|shppa_|shpss_", r"(shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})"),
    ("saas-token", "sq0", rf"(sq0(?:atp|csp|idp)-{_URL64}{{22,}})"),
    ("saas-token", "access-", rf"\b(access-(?:sandbox|development|production)-{_UUID})"),
    ("saas-token", "rzp_", rf"\b(rzp_(?:live|test)_{_ALNUM}{{14,}})"),
    ("saas-token", "tskey-", r"(tskey-[a-z]+-[A-Za-z0-9-]{15,})"),
    ("saas-token", "sqp_|squ_|sqa_|bkua_", rf"\b((?:sq[pua]|bkua)_{_HEX}{{40}})"),
    ("saas-token", "ccipat_", rf"(CCIPAT_{_ALNUM}{{10,}}_{_HEX}{{40}})"),
    ("saas-token", "phx_|phc_", rf"\b(ph[xc]_{_ALNUM}{{32,}})"),
    ("jwt", "eyi|eyj", rf"(ey[IJ]{_URL64}{{8,}}\.{_URL64}{{6,}}(?:\.{_URL64}*){{0,3}})"),
    (
        "password",
        "$1$|$5$|$6$|$y$|$apr1$|$2a$|$2b$|$2x$|$2y$|$argon2",
        r"(\$(?:1|5|6|y|apr1|2[abxy]|argon2(?:id|[id]))\$[A-Za-z0-9./$=,+]{12,})",
    ),
    ("token", "token", r"(?i:token[ =:]+[\"']?)([a-z0-9]{6}\.[a-z0-9]{16})\b"),
)
"""(kind, hint, pattern), by provider. There is a boundary on the left only where the beginning is short: a line
break that was written out (`\\n`) is a letter before the token."""


_DOUBTFUL = (
    ("mail-key", "key-", rf"\b(key-{_HEX}{{32}})\b"),
    ("mail-key", "-us", rf"\b({_HEX}{{32}}-us[0-9]{{1,2}})\b"),
    ("chat-token", r"sk[0-9a-f]{6}", rf"\b(SK{_HEX}{{32}})\b"),
    ("saas-token", "sdk-|mob-|api-", rf"\b((?:sdk|mob|api)-{_UUID})\b"),
)
"""Shapes that names of deployments, of alerts and of requests have too: masked, but no reason to refuse a name."""

_RUN = compiled(rf"{_ALNUM}{{16,}}")


def _no_words(match: Any) -> tuple[int, int] | None:
    """The span of the first group, but for names of words alone: some begin as tokens do."""
    span: tuple[int, int] = match.span(1)
    value = match.group(1)
    return span if has_digit(value) or value.lower() != value else None


def _sk(match: Any) -> tuple[int, int] | None:
    """A key has a long part without a hyphen that is no word; `sk-payments-checkout-service-1` has none."""
    span: tuple[int, int] = match.span(1)
    long = _RUN.finditer(match.string, *span)
    return span if any(has_digit(run.group()) or run.group().lower() != run.group() for run in long) else None


_KEY_FILES = (
    shape(
        "private-key",
        r"-----begin",
        r"(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^\x00]*?"
        r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)",
    ),
    shape(
        "private-key",
        r"-----begin",
        r"(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[\s\"'+,>|]|\\+[nrt])*(?:[A-Za-z-]+: [^\n\x00]{1,80}(?:[\s]|\\+[nr])+)*[A-Za-z0-9+/]{16,}={0,2})+"
        r"(?:(?:\s|\\+[nrt])*[A-Za-z0-9+/]+={1,2})?)",
    ),
    shape(
        "private-key",
        r"ls0tls1crudjtib",
        r"(LS0tLS1CRUdJTiB[^D\s\x00][A-Za-z0-9+/=]*(?:(?:\s|\\+[nr])+[A-Za-z0-9+/=]{40,})*)",
    ),
    shape("private-key", r"private-lines:", r"Private-Lines: [0-9]+((?:(?:\s|\\+[nr])+[A-Za-z0-9+/=]{20,})+)"),
)

_WEBHOOKS = (
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([^\s\x00\"'<>\\)]+)"
    r"|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/([^\s\x00\"'<>\\)]+)"
    r"|(?:\.webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook)/([^\s\x00\"'<>\\)]+)"
    r"|hooks\.zapier\.com/hooks/(?:catch/)?([^\s\x00\"'<>\\)]+)"
    r"|api\.telegram\.org/bot([^\s\x00\"'<>\\/]+)"
    r"|events\.(?:eu\.)?pagerduty\.com/(?:integration|x-ere)/([A-Za-z0-9]{16,})"
    r"|maker\.ifttt\.com/trigger/[^\s\x00/]+/(?:json/)?with/key/([A-Za-z0-9_-]+)"
    r"|hc-ping\.com/([^\s\x00\"'<>\\)]+)"
    r"|uptime\.betterstack\.com/api/v1/heartbeat/([A-Za-z0-9]+)"
    r"|/hooks/([A-Za-z0-9]{16,}(?:/[A-Za-z0-9_-]{10,})?)"
)


def _any_group(match: Any) -> tuple[int, int] | None:
    spans = (match.span(index) for index in range(1, match.re.groups + 1))
    return next((span for span in spans if span[0] >= 0), None)


_URLS = (
    shape("webhook", r"hook|hc-ping|telegram|pagerduty|ifttt|betterstack", f"(?i){_WEBHOOKS}", accept=_any_group),
    shape(
        "password",
        "://",
        r"(?i)\b(?:postgres(?:ql)?|mysql2?|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|snowflake"
        r"|nats|kafka|ldaps?|smtps?|ftps?|sftp|couchbase|cassandra|neo4j|bolt)(?:\+[a-z0-9]+)?://[^\s\x00:/@\"'<>]*:"
        r"([^\s\x00\"'<>]+)@[A-Za-z0-9\[.<_$-]",
        accept=lambda match: _password(match),
    ),
    shape(
        "password",
        "://",
        r"://[^\s\x00:/@\"'<>?#]*:([^\s\x00/\"'<>?#]+)@",
        accept=lambda match: _password(match),
    ),
    shape("token", "://", r"https?://([A-Za-z0-9_-]{20,})(?::x-oauth-basic)?@"),
    shape(
        "signature",
        r"sig=|signature=|credential=|-token=|hmac=|hdnea=|hdnts=|sig%3d|signature%3d",
        r"(?i)[?&;](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|hmac|hdnea|hdnts)(?:=|%3d)"
        r"([^\s\x00&\"'<>\\;)]{6,})",
    ),
    shape("token", r"key=", r"[?&]key=([A-Za-z0-9_-]{16,})"),
)
"""Credentials in URLs: the user stays, and the host is for other rules to judge."""


def _password(match: Any) -> tuple[int, int] | None:
    """The password of a URL, unless a placeholder or a variable stands there."""
    span: tuple[int, int] = match.span(1)
    value = match.group(1)
    return None if value.startswith((b"$", b"{", b"%(")) or set(value) <= set(b"*xX") else span


RULES: tuple[Rule, ...] = (
    *(shape(kind, hint, pattern, EXACT, _no_words) for kind, hint, pattern in _TOKENS),
    *(shape(kind, hint, pattern, GUESSED, _no_words) for kind, hint, pattern in _DOUBTFUL),
    shape("ai-key", "sk-", r"\b(sk-[A-Za-z0-9_-]{20,})", accept=_sk),
    *_KEY_FILES,
    *_URLS,
)
