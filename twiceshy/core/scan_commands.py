"""Commands: those that an attacker plants, which count, and those that are risky advice, which only label.

They are matched on the folded text itself, punctuation and all.
"""

from twiceshy.core.scan_patterns import MEDIUM, Rule, category

RULES = category(
    "dangerous_command",
    {},
    {
        "pipe-to-shell": (
            r"\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n|;]+\|[ \t]*(?:sudo[ \t]+)?(?:env[ \t]+)?(?:/[a-z/]*/)?"
            r"(?:(?:ba|z|k|da|fi)?sh|python[0-9.]*|perl|ruby|node|php)\b"
            r"|\b(?:ba|z)?sh[ \t]+(?:-c[ \t]+)?[\"']?(?:<\(|\$\()[ \t]*(?:curl|wget)\b"
            r"|\biex\b[^\n]*(?:downloadstring|iwr|invoke-webrequest)"
        ),
        "delete-root": (
            r"\brm[ \t]+(?:-[a-z-]+[ \t]+)*-[a-z]*[rf][a-z]*[ \t]+(?:-[a-z-]+[ \t]+)*[\"']?"
            r"(?:/|~|\$home|/?\*|/(?:etc|usr|var|boot|home|lib|bin|root)/?\*?)[\"']?(?:[ \t\n;&`)\"]|$)"
            r"|--no-preserve-root"
        ),
        "destroy-disk": (
            r"\bmkfs(?:\.[a-z0-9]+)?[ \t]+(?:-[a-z]+[ \t]+)*/dev/|\bdd[ \t][^\n]*of=/dev/(?:sd|nvme|vd|xvd|hd|disk)"
            r"|>[ \t]*/dev/(?:sd|nvme|vd|hd)[a-z]|:\(\)[ \t]*\{[ \t]*:[ \t]*\|[ \t]*:"
        ),
        "reverse-shell": (
            r"/dev/tcp/|\b(?:nc|ncat|netcat)\b[^\n|]*[ \t]-[a-z]*[ec][ \t]*(?:/bin/)?(?:ba)?sh|\bsocat\b[^\n]*exec:"
            r"|\bmkfifo\b[^\n]*\b(?:nc|ncat|telnet)\b|pty\.spawn"
        ),
        "run-encoded": (
            r"\bbase64[ \t]+(?:-d|--decode|-di)\b[^\n|]*\|[ \t]*(?:sudo[ \t]+)?(?:ba|z)?sh\b"
            r"|\bpowershell(?:\.exe)?\b[^\n]*-e(?:nc|ncodedcommand|c)?[ \t]+[a-z0-9+/=]{16,}"
            r"|\b(?:exec|eval)[ \t]*\([ \t]*(?:base64|__import__|compile|atob|bytes\.fromhex|codecs)"
        ),
        "planted-code": (
            r"__import__[ \t]*\([ \t]*[\"'](?:os|subprocess|socket|pty)|__subclasses__[ \t]*\(|__class__\.__mro__"
            r"|\bos\.system[ \t]*\(|subprocess\.(?:run|call|popen|check_output)\([^\n]*shell[ \t]*=[ \t]*true"
            r"|\bkernel\.exec[ \t]*\("
        ),
        "planted-sql": (
            r"[\"'0-9)][ \t]*;[ \t]*(?:drop|delete|insert|update|shutdown|exec|truncate|alter)\b[^\n]*(?:--|/\*|;)"
            r"|[\"'][ \t]*(?:or|and)[ \t]+[\"']?1[\"']?[ \t]*=[ \t]*[\"']?1|\bunion[ \t]+(?:all[ \t]+)?select\b"
            r"|[\"'][ \t]*(?:or|and)[ \t][^\n]*\bsleep[ \t]*\("
        ),
    },
)

_THE = r"(?:(?:the|all|this|these|your) )*"
_OFF = r"\b(?:disabl(?:e|ing)|turn(?:ing)? off|switch(?:ing)? off|deactivat(?:e|ing)|bypass(?:ing)?|skip(?:ping)?) "

_RISKY = {
    "disables-protection": (
        r"\bsetenforce[ \t]+0\b|\bselinux=(?:disabled|permissive)|\bufw disable\b|\biptables[ \t]+(?:-f\b|--flush)"
        r"|\bsystemctl[ \t]+(?:stop|disable)[ \t]+(?:firewalld|iptables|auditd|apparmor|ufw)|\bset-mppreference\b"
        rf"|{_OFF}{_THE}(?:firewall|selinux|apparmor|seccomp|antivirus|waf|audit|mfa|2fa|rbac|admission|guardrail"
        r"|authentication|authori[sz]ation|rate limit)"
    ),
    "disables-verification": (
        r"--insecure(?:-skip-tls-verify)?\b|\bcurl[ \t]+(?:-[a-z]+[ \t]+)*-[a-z]*k\b|\binsecure_?skip_?verify\b"
        r"|\bverify[ \t]*=[ \t]*false\b|\bsslverify[ \t=]+false|\bnode_tls_reject_unauthorized\b|--no-verify\b"
        r"|--no-check-certificate\b|--skip-verify\b|\bstricthostkeychecking[ =]no\b"
        rf"|{_OFF}{_THE}(?:tls|ssl|certificate|cert|signature|checksum|hostname) (?:verification|validation|check)"
    ),
    "opens-permissions": (
        r"\bchmod[ \t]+(?:-r[ \t]+)?(?:0?777|a\+rwx|ugo\+rwx|0?666)\b|\bchown[ \t]+-r\b|\bcluster-admin\b"
        r"|--privileged\b"
        r"|\bprivileged:[ \t]*true\b|\b0\.0\.0\.0/0\b|\bgrant[ \t]+all\b|\bnopasswd:|\bpublic-read\b"
        r"|\ballowprivilegeescalation:[ \t]*true\b|\bhostnetwork:[ \t]*true\b"
    ),
    "deletes-data": (
        r"\brm[ \t]+(?:-[a-z-]+[ \t]+)*-[a-z]*(?:rf|fr)[a-z]*\b|\bdrop[ \t]+(?:table|database|schema|keyspace"
        r"|collection)\b"
        r"|\btruncate[ \t]+table\b|\bdelete[ \t]+from[ \t]+[a-z_.]+|\bflushall\b|\bflushdb\b|\bterraform[ \t]+destroy\b"
        r"|\b(?:kubectl|oc)[ \t]+delete[ \t]+(?:-[a-z]+[ \t]+[^ ]+[ \t]+)?(?:pvc?|persistentvolume|ns|namespace|crd"
        r"|customresourcedefinition|secret|statefulset)|\bhelm[ \t]+(?:uninstall|delete)\b|\baws[ \t]+s3[ \t]+rb\b"
        r"|\bwipefs\b"
        rf"|\bdelete {_THE}(?:pvc|persistent volume|volume|backup|snapshot|database|bucket|namespace|topic|data "
        r"directory|etcd)"
        r"|\bmkfs\b|\bdd[ \t][^\n]*of=/dev/|\bkafka-topics[^\n]*--delete\b|\bdocker[ \t]+system[ \t]+prune\b"
    ),
    "forces": (
        r"(?:^|[\s`'\"(])--(?:force|grace-period[ =]0)|\bgit[ \t]+push[ \t]+(?:[a-z/]+[ \t]+)*-f\b"
        r"|\bgit[ \t]+reset[ \t]+--hard\b|\bkill(?:all)?[ \t]+-(?:9|kill)\b|\bpkill\b|\bterraform[ \t]+force-unlock\b"
        r"|\bforce[- ]?(?:delete|push|remove|unlock|merge|detach|terminate)\b"
    ),
    "stops-service": (
        r"\b(?:shutdown|poweroff|halt)[ \t]+(?:-[a-z]+|now)\b|\bkubectl[ \t]+drain\b|\bscale[^\n]*--replicas[= ]0\b"
        r"|\bsystemctl[ \t]+(?:stop|kill|mask)\b"
    ),
    "runs-from-network": (
        r"\b(?:curl|wget)\b[^\n|;]+\|[ \t]*(?:sudo[ \t]+)?(?:ba|z|k)?sh\b|\b(?:ba|z)?sh[ \t]+<\([ \t]*curl\b"
        r"|\biex\b[^\n]*(?:iwr|downloadstring)|\b(?:kubectl|oc)[ \t]+apply[ \t]+-f[ \t]+https?://"
        r"|\bpip[0-9.]*[ \t]+install[ \t]+[^\n]*(?:https?://|git\+)"
    ),
    "silences-alerts": (
        rf"\b(?:disable|silence|mute|turn off|suppress) {_THE}(?:alert|monitoring|alarm|page|paging|notification"
        r"|health ?check"
        r"|liveness|readiness)|\bamtool[ \t]+silence\b"
    ),
}
RISKY = tuple(Rule(kind, "risky_action", MEDIUM, pattern) for kind, pattern in _RISKY.items())
"""Kinds of risky action. A sixth of honest runbooks has one, so they count for nothing but a label."""
