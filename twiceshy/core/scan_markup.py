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
            r"(?:^|\n)[ \t]*#{2,}[ \t]*\(?(?:(?:human|assistant|ai)(?:[ _-]?(?:message|prompt|instructions?|override))?"
            r"|(?:system|user)[ _-]?(?:message|prompt|instructions?|override)|instruction)[ \t]*[):]"
        ),
        "role-tag": (
            r"</?(?:system|assistant|human|developer|user|admin|ai)[_ -](?:prompt|message|instructions?|query|note"
            r"|override"
            r"|directive)s?>|</?(?:assistant|sysprompt|llm|ai_instructions?)>"
        ),
        "role-turns": (
            r"(?:^|\n)[ \t>*_\"]*human[*_]*[ \t]*:[^\n]*\n(?:[^\n]*\n){0,3}[ \t>*_\"]*(?:assistant|ai"
            r"|chatgpt|bot)"
            r"[*_]*[ \t]*:"
        ),
        "role-yaml": (
            r"(?:^|\n)[ \t-]*[\"']?role[\"']?[ \t]*:[ \t]*[\"']?(?:system|developer|assistant)[\"']?[ \t]*\n["
            r" \t]*[\"']?"
            r"(?:content|parts|text|message)[\"']?[ \t]*:"
        ),
        "role-line": (
            rf"{_LINE}(?:system|developer|assistant|system (?:prompt|message|note|override"
            r"|instructions?))[*_\])]*[ \t]*:"
            r"[*_ \t]*(?:you (?:are|must|will|should)|ignore|disregard|forget|new (?:instructions?|task"
            r"|rules?)"
            r"|override|the (?:assistant|ai|model)|from now on|always|never (?:tell|reveal|ask|mention)"
            r"|(?:do not|don't) (?:tell|reveal|ask|mention|follow|obey)|instructions?|prompt)\b"
        ),
        # In the log of a model's caller it comes after "messages" and a colon.
        "role-json": (
            r"(?:^|[^\[,:{\s])\s*\[?\s*\{?\s*[\"']role[\"'][ \t\n]*:[ \t\n]*[\"'](?:system|developer|assistant"
            r"|tool)[\"'][ \t\n]*,[ \t\n]*[\"']"
            r"(?:content|parts|text|tool_call)"
        ),
    },
    {
        "system-tag": r"</?(?:system|instructions?|prompt|override)>",
        "role-title": r"(?:^|\n)[ \t]*#{2,}[ \t]*\(?(?:system|instructions|user)[ \t]*(?:[):]|\n)",
        "user-turns": (
            r"(?:^|\n)[ \t>*_\"]*user[*_]*[ \t]*:[^\n]*\n(?:[^\n]*\n){0,3}[ \t>*_\"]*(?:assistant|ai|chatgpt)[*_]*["
            r" \t]*:"
        ),
        "role-line-notice": (
            rf"{_LINE}(?:system|developer|assistant)[*_\])]*[ \t]*:[*_ \t]*(?:you (?:have|can)|do not|don't)\b"
        ),
        "role-json-inside": (
            r"[\"']role[\"'][ \t\n]*:[ \t\n]*[\"'](?:system|developer|assistant|tool)[\"'][ \t\n]*,[ \t\n]*[\"']"
            r"(?:content|parts|text|tool_call)"
        ),
    },
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
            r"|secret|instructions? (?:to|for) (?:ai|assistant|agent))[ \t_-]*(?:notes?|prompts?"
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
        "bracket-message": (
            r"(?:[\[({<【]|={2,}|#{2,}|\*{2,})[ \t]*(?:system|admin(?:istrator)?|developer|operator|root)["
            r" \t_-]*messages?\b"
        ),
        "bracket-alert": (
            r"[\[<{【][ \t]*/?(?:important|system|admin|information|instructions?|urgent|attention|priority)[ \t_-]*"
            r"(?:alert|update|notice|info|information|instructions?|messages?|important)?[ \t:!]*[\]>}】]"
        ),
    },
)

_IS_WORD = r"[\"'][ \t\n]*:[ \t\n]*[\"'][a-z0-9_.-]+[\"'][ \t\n]*,[ \t\n]*"

_TOOLS = category(
    "tool_call",
    {
        "tool-call-json": (
            r"[\"'](?:tool_calls?|function_call|tool_use|tool_choice|tool_call_id|tooluse|functioncall)[\"'][ \t\n]*:"
            r"|[\"']type[\"'][ \t\n]*:[ \t\n]*[\"'](?:tool_use|tool_call|tool_result|function_call"
            r"|function_call_output)[\"']"
        ),
        "tool-call-arguments": (
            rf"[\"']name{_IS_WORD}[\"'](?:arguments|tool_input|action_input)[\"'][ \t\n]*:"
            rf"|[\"'](?:function|tool|tool_name|recipient_name){_IS_WORD}[\"'](?:arguments|tool_input|parameters"
            r"|action_input)[\"'][ \t\n]*:"
            rf"|[\"'](?:tool|tool_name|action){_IS_WORD}[\"'](?:args|input|action_input|params)[\"'][ \t\n]*:["
            rf" \t\n]*[\"{{]"
        ),
        "tool-call-tag": (
            r"<(?:[a-z]+:)?/?(?:function_(?:calls?|results?)|tool_(?:calls?|use|result|response|code)|invoke name"
            r"|parameter name)\b"
        ),
        "tool-call-marker": (
            r"\[/?tool_(?:calls?|results?|use)\]"
            r"|[\"']jsonrpc[\"'][^\n]{0,99}[\"']method[\"']\s*:\s*[\"']tools/call[\"']"
            r"|</?use_mcp_tool>|<function name=|\bto=functions\.[a-z_]+|<function=[a-z_]+>|```(?:tool_code"
            r"|tool_call)\b"
        ),
        "agent-trace": (
            r"(?:^|\n)[ \t]*action[ \t]*:[^\n]+\n[ \t]*action input[ \t]*:"
            r"|(?:^|\n)[ \t]*thought[ \t]*:[^\n]+\n[ \t]*action[ \t]*:"
        ),
        "tool-call-yaml": (
            r"(?:^|\n)[ \t-]*(?:tool|tool_name|function)[ \t]*:[ \t]*[a-z0-9_.-]+[ \t]*\n[ \t]*(?:arguments|args"
            r"|tool_input"
            r"|parameters)[ \t]*:"
            r"|(?:^|\n)[ \t-]*name[ \t]*:[ \t]*[a-z0-9_.-]+[ \t]*\n[ \t]*(?:arguments|tool_input)[ \t]*:"
        ),
    },
)

_TEMPLATE = r"(?:\{\{[ ]*[^$. }\n]|%7b%7b|\$\{|\$\(|<%=|\{%|\[\[)"
"""As one that is filled in when it is shown. What alerting fills in beforehand begins with a dollar sign or a dot."""

_PRIVATE = (
    r"(?:\{|%7b|\$\(|<%=|\[|<)[^}\])>\s]*(?:env|secret|token|password|passwd|api_?key|credential|conversation|history"
    r"|chat|context|prompt|memory|user_?(?:data|input|name|message)|summary|answer|session|cookie)"
)
_TOLD = (
    r"(?:\{|%7b|\$\(|\[|<)[^}\])>\s]*(?:conversation|history|chat|context|prompt|memory|user_?(?:data|input|message))"
)
_URL = r"[ \t\n<]*(?:[a-z]+:)?//"

_EXFILTRATION = category(
    "exfiltration",
    {
        "image-with-template": rf"!\[[^\]\n]*\]\({_URL}[^)\s]*(?:{_TEMPLATE}|{_PRIVATE})",
        "link-with-conversation": rf"\[[^\]\n]*\]\({_URL}[^)\s]*{_TOLD}",
        "reference-with-secret": rf"(?:^|\n)[ \t>]*\[[^\]\n]+\]:{_URL}[^\s]*(?:{_TEMPLATE}|{_PRIVATE})",
        "html-with-template": (
            r"<(?:img|iframe|script|link|object|embed|audio|video|source|form|a|input|image|base|body|table|td)\b[^>]*"
            r"(?:src|href|action|data|background|srcset|poster)[ \t]*=[ \t]*[\"']?(?:[a-z]+:)?//[^\"'> ]*"
            rf"(?:{_TEMPLATE}|{_PRIVATE})"
        ),
        "secret-in-url": (
            r"(?:^|[<\"'\s])https?://[^\s\"'<>]+[?&][a-z_]*=(?:\{\{|\$\{|<|\[)[ ]?(?:secret|password|api_?key"
            r"|conversation|prompt|env|history"
            r"|context|system)[a-z_]*[ ]?(?:\}|>|\])"
        ),
        "send-files": (
            r"\bcurl\b[^\n|;]*(?:-d|--data(?:-binary|-raw|-urlencode)?|-f|--form|-t|--upload-file)[ =]+[^\n|;]*@?"
            r"(?:~/\.(?:ssh|aws|kube|gnupg)|/etc/(?:shadow|passwd)|/proc/self/environ|[^\n|; ]*/id_(?:rsa|ed25519))"
            r"|(?:\b(?:env|printenv)|/proc/self/environ|/etc/shadow|\.ssh/id_[a-z0-9]+|\.aws/credentials"
            r"|\.kube/config)[ \t]*"
            r"\|[ \t]*(?:base64[^|\n]*\|[ \t]*)?(?:curl|wget|nc|ncat|netcat|telnet)\b"
            r"|\b(?:nslookup|dig|host|ping|curl|wget)[ \t][^\n|;]*\$\([^)\n]*(?:whoami|hostname|env|cat|id"
            r"|base64)[^)\n]*\)\."
            r"|\b(?:upload|send|post|exfiltrate) (?:the )?(?:contents? of )?(?:~/\.(?:ssh|aws|kube)|/etc/shadow"
            r"|/etc/passwd)"
        ),
        "send-secrets": (
            r"(?:^|[.!?:;,>*\"'\n-][ \t]*|\b(?:please|then|and|also|now|must|should|always|you|to you|assistant) )"
            r"(?:send|post|upload|exfiltrate|forward|transmit|append|embed|encode|submit|leak|e-?mail|pipe) "
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
        "link-with-secret": rf"\[[^\]\n]*\]\({_URL}[^)\s]*{_PRIVATE}",
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

_SALUTED = (
    "(?:ai|llms?|(?:large )?language models?|chatgpt|gpt|claude|gemini|copilot)"
    "(?: (?:assistants?|agents?|responders?|models?|bots?))?"
)
_DONE = (
    "(?:run|execute|merge|approve|skip|delete|restart|ignore|disregard|close|grant|apply|disable|deploy|mark|call|open"
    "|send"
    "|answer|say|reply|respond|recommend|tell|follow|obey|do|add|give|use|treat|print|show)"
)

_AGENT = category(
    "agent_directive",
    {
        "ai-is-called": (
            rf"(?:^|[\n.!?>*][ \t]*)(?:@{_SALUTED}[,:]?|(?:(?:dear|hey|hi|hello|attention) )?(?:on-call )?{_SALUTED}["
            rf" ]?[,:]"
            rf"|{_SALUTED}(?: please| kindly))[ \t]*(?:(?:please|kindly|you must|you should|now|immediately)["
            rf" ,]+)?{_DONE}[ ]"
        ),
    },
)

RULES = (*_AGENT, *_ROLES, *_LABELS, *_TOOLS, *_EXFILTRATION, *_MARKUP)
