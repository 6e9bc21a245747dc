"""The rules on what a text does to a machine that reads or shows it: forged roles and labels, tool calls, markup.

They are matched on the folded text itself, punctuation and all.
"""

from twiceshy.core.scan_patterns import category

_AI = "(?:ai|llms?|language model|chat ?bot|chatgpt|gpt|claude|gemini|copilot|assistant|agent)"
_LINE = r"(?:^|\n)[ \t>*_\"#\[(-]*"

_ROLES = category(
    "role_forging",
    {
        "chat-template": (
            r"<[|｜][ ]*/?(?:im_(?:start|end|sep)|system|user|assistant|developer|endoftext|(?:begin|end)[_▁ ]of[_▁ ]"
            r"(?:text|sentence|turn)|(?:start|end)_header_id|eo[tm]_id|endofprompt|python_tag|channel|(?:start"
            r"|end)_of_role"
            r"|constrain|tool[a-z_▁]*|message|return)[ ]*[|｜]>"
        ),
        "instruction-template": (
            r"\[/?inst\]|<</?sys>>|\[/?(?:system_prompt|available_tools|tool_results|assistant_message)\]"
            r"|</?(?:start_of_turn|end_of_turn)>"
        ),
        "role-heading": (
            r"(?:^|\n)[ \t]*#{2,}[ \t]*\(?(?:system|instructions?|human|assistant|user|ai)"
            r"(?:[ _-]?(?:message|prompt|instructions?|override))?[ \t]*[):]"
        ),
        "role-tag": (
            r"</?(?:system|assistant|human|developer|user|admin|ai)[_ -](?:prompt|message|instructions?|query|note"
            r"|override"
            r"|directive)s?>|</?(?:assistant|sysprompt|llm|ai_instructions?)>"
        ),
        "role-turns": (
            r"(?:^|\n)[ \t>*_\"]*(?:human|user)[*_]*[ \t]*:[^\n]*\n(?:[^\n]*\n){0,3}[ \t>*_\"]*(?:assistant|ai"
            r"|chatgpt|bot)"
            r"[*_]*[ \t]*:"
        ),
        "role-line": (
            rf"{_LINE}(?:system|developer|assistant|system (?:prompt|message|note|override"
            r"|instructions?))[*_\])]*[ \t]*:"
            r"[*_ \t]*(?:you (?:are|must|will|should|have|can)|ignore|disregard|forget|new (?:instructions?|task"
            r"|rules?)"
            r"|override|the (?:assistant|ai|model)|from now on|always|never (?:tell|reveal|ask|mention)|do not|don't"
            r"|instructions?|prompt)\b"
        ),
        "role-json": (
            r"[\"']role[\"'][ \t\n]*:[ \t\n]*[\"'](?:system|developer|assistant|tool)[\"'][ \t\n]*,[ \t\n]*[\"']"
            r"(?:content|parts|text|tool_call)"
        ),
    },
    {"system-tag": r"</?(?:system|instructions?|prompt|override)>"},
)

_LABELS = category(
    "label_forging",
    {
        "comment-to-ai": (
            r"(?:<!--|/\*|\{#|//|\[//\]: ?#[ \t]*\(?)[ \t\n]*(?:@|note (?:to|for) |(?:hidden )?instructions? (?:to"
            r"|for) |for "
            rf"|dear )?(?:the |all |any )?(?:{_AI}|system prompt|prompt|hidden instructions?)[ \t]*(?:[:,>]"
            r"|instructions?"
            r"|note|only|must|should|please)"
        ),
        "comment-with-order": (
            r"<!--[ \t\n]*(?:[a-z]+[: ]+)?(?:ignore|disregard|forget|you must|do not tell|always (?:answer|respond"
            r"|reply|say))"
            r"\b"
        ),
        "bracket-label": (
            r"(?:\[{1,2}|\(\(|<{1,2}|\{{1,2}|【|={2,}|#{2,}|\*{2,})[ \t]*/?(?:(?:begin|start|end|new|hidden|secret"
            r"|important"
            r"|urgent|critical) )*(?:system|admin(?:istrator)?|assistant|developer|operator|ai|llm|agent|root|prompt"
            r"|hidden"
            r"|secret|instructions? (?:to|for) (?:ai|assistant|agent))[ \t_-]*(?:notes?|messages?|prompts?"
            r"|instructions?"
            r"|overrides?|directives?|commands?|inject(?:ion|ed))[ \t:.!]*(?:\]|\)\)|>|\}|】|={2,}|\*{2,}|#{2,}|:)"
        ),
        "new-orders-label": (
            rf"{_LINE}(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt"
            r"|directives?)[\])*]*[ \t]*:"
        ),
        "end-of-context": (
            r"[-=#*<\[]{2,}[ \t]*(?:end|begin|start|stop)(?:ning)? of (?:(?:the|this|all|previous|user|system"
            r"|external) )*"
            r"(?:context|prompt|instructions?|input|system message|conversation|retrieved|untrusted)"
        ),
    },
    {
        "bracket-alert": (
            r"[\[<{【][ \t]*/?(?:important|system|admin|information|instructions?|urgent|attention|priority)[ \t_-]*"
            r"(?:alert|update|notice|info|information|instructions?|messages?|important)?[ \t:!]*[\]>}】]"
        ),
    },
)

_TOOLS = category(
    "tool_call",
    {
        "tool-call-json": (
            r"[\"'](?:tool_calls?|function_call|tool_use|tool_choice|tool_call_id|tooluse|functioncall)[\"'][ \t\n]*:"
            r"|[\"']type[\"'][ \t\n]*:[ \t\n]*[\"'](?:tool_use|tool_call|tool_result|function_call"
            r"|function_call_output)[\"']"
        ),
        "tool-call-arguments": (
            r"[\"'](?:name|function|tool|tool_name|recipient_name)[\"'][ \t\n]*:[ \t\n]*[\"'][a-z0-9_.-]+[\"'][ \t\n]*,"
            r"[ \t\n]*[\"'](?:arguments|tool_input|parameters|action_input)[\"'][ \t\n]*:"
        ),
        "tool-call-tag": (
            r"<(?:[a-z]+:)?/?(?:function_(?:calls?|results?)|tool_(?:calls?|use|result|response|code)|invoke name"
            r"|parameter name)\b"
        ),
        "tool-call-marker": (
            r"\[/?tool_(?:calls?|results?|use)\]|\bto=functions\.[a-z_]+|<function=[a-z_]+>|```(?:tool_code"
            r"|tool_call)\b"
        ),
        "agent-trace": r"(?:^|\n)[ \t]*action[ \t]*:[^\n]+\n[ \t]*action input[ \t]*:",
    },
)

_TEMPLATE = r"(?:\{\{[ ]*[^$. }\n]|%7b%7b|\$\{|\$\(|<%=|\{%|\[\[)"
"""As one that is filled in when it is shown. What alerting fills in beforehand begins with a dollar sign or a dot."""

_PRIVATE = (
    r"(?:\{|%7b|\$\(|<%=|\[|<)[^}\])>\s]*(?:env|secret|token|password|passwd|api_?key|credential|conversation|history"
    r"|chat|context|prompt|memory|user_?(?:data|input|name|message)|summary|answer|session|cookie)"
)
_URL = r"[ \t<]*[a-z]+:?//"

_EXFILTRATION = category(
    "exfiltration",
    {
        "image-with-template": rf"!\[[^\]\n]*\]\({_URL}[^)\s]*(?:{_TEMPLATE}|{_PRIVATE})",
        "link-with-secret": rf"\[[^\]\n]*\]\({_URL}[^)\s]*{_PRIVATE}",
        "reference-with-secret": rf"(?:^|\n)[ \t>]*\[[^\]\n]+\]:{_URL}[^\s]*(?:{_TEMPLATE}|{_PRIVATE})",
        "html-with-template": (
            r"<(?:img|iframe|script|link|object|embed|audio|video|source|form|a|input|image|base|body|table|td)\b[^>]*"
            r"(?:src|href|action|data|background|srcset|poster)[ \t]*=[ \t]*[\"']?[^\"'> ]*"
            rf"(?:{_TEMPLATE}|{_PRIVATE})"
        ),
        "send-secrets": (
            r"\b(?:send|post|upload|exfiltrate|forward|transmit|append|embed|encode|submit|leak|e-?mail|pipe) "
            r"(?:(?:all|the|any|your|every|me|us|of|these|their|its|user|user's) )*(?:[a-z_-]+ )?(?:secrets?"
            r"|credentials?"
            r"|passwords?|(?:api|private|access|ssh|secret) keys?|(?:access|auth|session|bearer|api) tokens?"
            r"|env(?:ironment)? var(?:iable)?s|(?:chat|conversation) (?:history|logs?)|system prompt|kubeconfig)\b"
            r"[^.!?\n]* (?:to|in|into|at|via) [^.!?\n]*(?:https?:|url|webhook|e-?mail|server|attacker|address|query"
            r"|image)"
        ),
    },
    {
        "image-that-asks": (
            rf"!\[[^\]\n]*\]\({_URL}[^)\s]*[?&](?:q|data|exfil|leak|token|secret|key|content|msg|query|payload|info"
            r"|b64)="
        ),
        "secret-in-url": r"https?://[^\s\"'<>]+[?&/=](?:\{|\$\{|<|\[)[^}\]>\s]*(?:secret|password|api_?key|conversation|prompt)",
    },
)

_HIDDEN = (
    r"(?:display[ \t]*:[ \t]*none|visibility[ \t]*:[ \t]*hidden|font-size[ \t]*:[ \t]*[01](?:px|pt|em|rem"
    r"|%)?[ \t]*[;\"'\\!]"
    r"|opacity[ \t]*:[ \t]*0(?:\.0\d*)?[ \t]*[;\"'\\!]|(?:left|top|text-indent)[ \t]*:[ \t]*-\d{3}"
    r"|[^-]color[ \t]*:[ \t]*(?:white|transparent|#fff))"
)

_MARKUP = category(
    "hidden_markup",
    {
        "hidden-style": rf"style[ \t]*=[ \t]*\\?[\"'](?:[^\"'\n]*[; \t])?{_HIDDEN}",
        "markup-flood": r"(?:!\[[^!]*){100}",
    },
    {
        "hidden-attribute": r"<(?:span|div|p|section|font)\b[^>]*(?: hidden\b|color=[\"']?(?:white|#fff)|size=[\"']?0)",
        "active-markup": (
            r"<(?:script|iframe|object|embed|svg)\b|\bon(?:error|load|click|mouseover|focus|mouseleave)[ \t]*="
            r"|javascript:|data:text/html"
        ),
        "hidden-in-latex": r"\\(?:color|textcolor)\{white\}|\\fontsize\{0",
    },
)

RULES = (*_ROLES, *_LABELS, *_TOOLS, *_EXFILTRATION, *_MARKUP)
