"""Samples of secrets, made when they are asked for: no line of this file looks like one."""

import base64
import json
import random
import string

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
HEX, ALNUM = DIGITS + "abcdef", string.ascii_letters + DIGITS
URL64, B64 = ALNUM + "-_", ALNUM + "+/"
_CHANCE = random.Random(20261102)


def drawn(length: int, letters: str = ALNUM) -> str:
    """Random letters, a digit among them, which begin and end with a letter or a digit."""
    while True:
        text = "".join(_CHANCE.choice(letters) for _ in range(length))
        if text[0].isalnum() and text[-1].isalnum() and any(letter in DIGITS for letter in text):
            return text


def _uuid() -> str:
    return "-".join(drawn(length, HEX) for length in (8, 4, 4, 4, 12))


def _jwt() -> str:
    parts = ({"alg": "RS256", "kid": drawn(6)}, {"sub": drawn(8), "exp": 1_793_588_400})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, drawn(43, URL64)))


def key_file(kind: str = "RSA PRIVATE") -> str:
    lines = "\n".join(drawn(64, B64) for _ in range(4))
    return f"-----BEGIN {kind} KEY-----\n{lines}\n{drawn(22, B64)}==\n-----END {kind} KEY-----"


def _encoded_key_file() -> str:
    return base64.b64encode(key_file().encode()).decode()


def _tokens() -> dict[str, str]:
    """Secrets that are found by their shape alone, wherever they stand."""
    return {
        "AWS access key": "AK" + "IA" + drawn(16, UPPER + DIGITS),
        "AWS temporary key": "AS" + "IA" + drawn(16, UPPER + DIGITS),
        "AWS secret key": drawn(40, ALNUM),
        "AWS Bedrock key": "AB" + "SK" + drawn(110, B64),
        "Google API key": "AI" + "za" + drawn(35, URL64),
        "Google access token": "ya" + "29." + drawn(60, URL64),
        "Google refresh token": "1/" + "/0" + drawn(50, URL64),
        "Google client secret": "GOC" + "SPX-" + drawn(28, URL64),
        "Google HMAC key": "GO" + "OG1E" + drawn(55, UPPER + DIGITS),
        "Azure client secret": drawn(3) + "8" + "Q~" + drawn(34),
        "Azure storage key": drawn(86, B64) + "==",
        "GitHub token": "gh" + "p_" + drawn(36),
        "GitHub app token": "gh" + "s_" + drawn(36),
        "GitHub fine-grained token": "github" + "_pat_" + drawn(22) + "_" + drawn(59),
        "GitLab token": "gl" + "pat-" + drawn(20, URL64),
        "GitLab runner token": "GR" + "1348941" + drawn(20, URL64),
        "Atlassian token": "AT" + "ATT3" + drawn(180, URL64),
        "Bitbucket app password": "AT" + "BB" + drawn(32),
        "Slack bot token": "xo" + "xb-" + drawn(12, DIGITS) + "-" + drawn(12, DIGITS) + "-" + drawn(24),
        "Slack app token": "xa" + "pp-1-" + drawn(11, UPPER + DIGITS) + "-" + drawn(13, DIGITS) + "-" + drawn(64, HEX),
        "Stripe live key": "sk" + "_live_" + drawn(24),
        "Stripe restricted key": "rk" + "_live_" + drawn(24),
        "Stripe webhook secret": "wh" + "sec_" + drawn(32),
        "npm token": "np" + "m_" + drawn(36),
        "PyPI token": "py" + "pi-AgEIcHlwaS5vcmc" + drawn(70, URL64),
        "RubyGems key": "ruby" + "gems_" + drawn(48, HEX),
        "NuGet key": "oy" + "2" + drawn(43, LOWER + DIGITS),
        "Docker Hub token": "dckr" + "_pat_" + drawn(27, URL64),
        "crates.io token": "ci" + "o" + drawn(32),
        "Artifactory key": "AK" + "Cp" + drawn(69),
        "DigitalOcean token": "do" + "p_v1_" + drawn(64, HEX),
        "Heroku key": "HR" + "KU-" + _uuid(),
        "Netlify token": "nf" + "p_" + drawn(36),
        "Supabase key": "sb" + "p_" + drawn(40, HEX),
        "PlanetScale password": "pscale" + "_pw_" + drawn(43),
        "Databricks token": "da" + "pi" + drawn(32, HEX),
        "Cloudflare origin key": "v1" + ".0-" + drawn(24, HEX) + "-" + drawn(146, HEX),
        "Vault token": "hv" + "s." + drawn(95, URL64),
        "Terraform Cloud token": drawn(14) + ".at" + "lasv1." + drawn(67, URL64),
        "Doppler token": "dp" + ".pt." + drawn(43),
        "age key": "AGE-SECRET" + "-KEY-1" + drawn(58, UPPER + DIGITS),
        "1Password service token": "op" + "s_eyJ" + drawn(250),
        "Pulumi token": "pu" + "l-" + drawn(40, HEX),
        "Grafana service account token": "gl" + "sa_" + drawn(32) + "_" + drawn(8, HEX),
        "Grafana Cloud token": "gl" + "c_" + drawn(60),
        "Sentry user token": "sntr" + "yu_" + drawn(64, HEX),
        "New Relic key": "NR" + "AK-" + drawn(27, UPPER + DIGITS),
        "Dynatrace token": "dt" + "0c01." + drawn(24, UPPER + DIGITS) + "." + drawn(64, UPPER + DIGITS),
        "Honeycomb key": "hc" + "aik_" + drawn(58, LOWER + DIGITS),
        "Postman key": "PM" + "AK-" + drawn(24, HEX) + "-" + drawn(34, HEX),
        "OpenAI key": "sk" + "-proj-" + drawn(74, URL64),
        "Anthropic key": "sk" + "-ant-api03-" + drawn(93, URL64),
        "Hugging Face token": "hf" + "_" + drawn(34),
        "Replicate token": "r8" + "_" + drawn(37),
        "Groq key": "gs" + "k_" + drawn(52),
        "SendGrid key": "SG" + "." + drawn(22, URL64) + "." + drawn(43, URL64),
        "Mailgun key": "key" + "-" + drawn(32, HEX),
        "Mailchimp key": drawn(32, HEX) + "-us" + "12",
        "Brevo key": "xkey" + "sib-" + drawn(64, HEX) + "-" + drawn(16),
        "Twilio key": "SK" + drawn(32, HEX),
        "Telegram bot token": drawn(10, DIGITS) + ":A" + "A" + drawn(33, URL64),
        "Discord bot token": "MT" + drawn(24) + "." + drawn(6, URL64) + "." + drawn(38, URL64),
        "Facebook token": "EA" + "A" + drawn(120),
        "Linear key": "lin" + "_api_" + drawn(40),
        "Notion token": "nt" + "n_" + drawn(46),
        "Figma token": "fig" + "d_" + drawn(40, URL64),
        "Airtable token": "pa" + "t" + drawn(14) + "." + drawn(64, HEX),
        "Shopify token": "shp" + "at_" + drawn(32, HEX),
        "Square token": "sq0" + "atp-" + drawn(22, URL64),
        "Plaid token": "access" + "-production-" + _uuid(),
        "Tailscale key": "ts" + "key-auth-" + drawn(16) + "-" + drawn(32),
        "Sonar token": "sq" + "p_" + drawn(40, HEX),
        "Buildkite token": "bk" + "ua_" + drawn(40, HEX),
        "LaunchDarkly key": "sd" + "k-" + _uuid(),
        "JSON web token": _jwt(),
        "private key": key_file(),
        "OpenSSH key": key_file("OPENSSH PRIVATE"),
        "EC key": key_file("EC PRIVATE"),
        "PGP key": key_file("PGP PRIVATE").replace("PGP PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
        "private key with written line breaks": key_file("PRIVATE").replace("\n", "\\n"),
        "private key with twice escaped line breaks": key_file("PRIVATE").replace("\n", "\\\\n"),
        "private key in base64": _encoded_key_file(),
        "private key cut short": key_file()[:200],
        "opaque token": drawn(32),
    }  # fmt: skip


_OPENED = (
    ("database URL", "postgres" + "://app:{}@db.example.com:5432/pay"),
    ("database URL with a slash in the password", "postgres" + "://app:a1/{}@db:5432/pay"),
    ("database URL with an at sign in the password", "mysql" + "://app:p@{}@db:3306/pay"),
    ("Redis URL without a user", "rediss" + "://:{}@cache:6379/0"),
    ("Mongo URL", "mongodb+srv" + "://app:{}@c0.example.net/?retryWrites=true"),
    ("AMQP URL", "amqp" + "://guest:{}@rabbit:5672/%2f"),
    ("basic-auth URL", "https" + "://bob:{}@git.example.com/a.git"),
    ("token as the user of a URL", "https" + "://{}@git.example.com/a.git"),
    ("JDBC URL", "jdbc:mysql" + "://db:3306/pay?user=app&password={}&useSSL=true"),
    ("ADO connection string", "Server=db;User Id=app;Password" + "={};Encrypt=true"),
    ("storage connection string", "AccountName=pay;AccountKey" + "={};EndpointSuffix=core.windows.net"),
    ("presigned URL", "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature" + "={}"),
    ("shared access signature", "https://pay.blob.core.windows.net/c/b?sv=2024-11-04&se=2026-11-02&sig" + "={}"),
    ("signed Google URL", "https://storage.googleapis.com/b/o?X-Goog-Signature" + "={}"),
    ("API key in a query", "https://maps.example.com/v1?key" + "={}&q=a"),
    ("token in a query", "https://example.com/cb?access_token" + "={}&state=1"),
    ("Slack webhook", "https://hooks.slack" + ".com/services/T0AB12CD3/B0AB12CD3/{}"),
    ("Discord webhook", "https://discord" + ".com/api/webhooks/123456789012345678/{}"),
    ("Teams webhook", "https://acme.webhook.office" + ".com/webhookb2/{}/IncomingWebhook/1/2"),
    ("Zapier webhook", "https://hooks.zapier" + ".com/hooks/catch/123456/{}/"),
    ("PagerDuty integration", "https://events.pagerduty" + ".com/integration/{}/enqueue"),
    ("bearer header", "Authorization: Bearer" + " {}"),
    ("basic header", "Authorization: Basic" + " {}=="),
    ("curl with a header", 'curl -H "X-Api-Key' + ': {}" https://api.example.com'),
    ("curl with a user", "curl -u bob" + ":{} https://api.example.com"),
    ("cookie", "Cookie: theme=dark; session" + "={}"),
    ("password in an environment variable", "DB_PASSWORD" + "={}"),
    ("password in YAML", "password" + ": {}"),
    ("password in JSON", '"password"' + ': "{}"'),
    ("password in JSON in JSON", '\\"password\\"' + ': \\"{}\\"'),
    ("password in a shell", "export PGPASSWORD" + "='{}'"),
    ("password in Python", "connect(user='app', passwd" + "='{}')"),
    ("password in XML", "<password>" + "{}</password>"),
    ("password in a flag", "deploy --password" + " {}"),
    ("password in a sentence", "the password was" + " {}"),
    ("password of sshpass", "sshpass -p" + " {} ssh root@db"),
    ("password in SQL", "ALTER USER app IDENTIFIED BY" + " '{}'"),
    ("AWS secret in a profile", "aws_secret_access_key" + " = {}"),
    ("Datadog key", "DD_API_KEY" + "={}"),
    ("client secret", "client_secret" + "={}&grant_type=client_credentials"),
    ("kubeconfig token", "users:\n- name: ci\n  user:\n    token" + ": {}"),
    ("kubeconfig key", "    client-key-data" + ": {}"),
    ("service account key id", '"private_key_id"' + ': "{}"'),
    ("Docker login", '"auths": {{"registry.example.com": {{"auth"' + ': "{}"}}}}'),
    ("Helm value", "--set auth.rootPassword" + "={}"),
    ("literal of a Kubernetes secret", "kubectl create secret generic db --from-literal=password" + "={}"),
    ("webhook secret", "WEBHOOK_SECRET" + ": '{}'"),
    ("session id", "JSESSIONID" + "={}"),
    ("kubeadm token", "kubeadm join --token" + " abc123.{}"),
)

_SHORT = drawn(12)


def samples() -> list[tuple[str, str, str]]:
    """(what it is, a text that holds it, the part which no output may hold)."""
    found = [(name, token, token) for name, token in _tokens().items()]
    for name, template in _OPENED:
        secret = drawn(16, LOWER + DIGITS) if name == "kubeadm token" else drawn(20)
        found.append((name, template.format(secret), secret))
    return found
