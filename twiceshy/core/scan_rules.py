"""The rules on what a text asks of a reader that is a model, in English; other tongues are in `scan_languages`.

They are grammars (a verb of dropping, then "previous", then a noun for orders) rather than sayings, so that a wording
that nobody has listed is found too. What no post-mortem says to its readers is strong; what one may say of its own
systems is medium, and holds an incident only together with another category.
"""

from twiceshy.core.scan_patterns import category, phrase, sentence

FORGET = (
    "(ignor(e|ing)|disregard(ing)?|forget(ting)?|neglect|overlook|discard|dismiss|abandon|unlearn|set aside|put aside"
    "|pay no (attention|heed) to|never mind|(do not|don't|(do not|don't) (need|have) to|no longer( (need|have) to)?) "
    "(follow|obey|adhere to|comply with|listen to)|(stop|cease) (following|obeying|listening to))"
)
REMOVE = "(bypass|override|overwrite|omit|erase|delete|clear|cancel|void|nullify|skip|revoke|rescind)"
"""What is also done to orders of customers, and to constraints of tables."""
BEFORE = (
    "(prev[a-z]{2,6}s|prior|above|preceding|earlier|foregoing|former|past|existing|current|initial|original|last"
    "|before|aforementioned|old|other|given|system|safety|developer|default|standing|built in)"
)
SAYINGS = (
    "([a-z]{0,2}nstr[a-z]{2,6}ions?|guidelines?|guidance|programming|guardrails|safeguards|system (prompts?|messages?))"
)
THINGS = "(directions?|prompts?|directives?|orders|commandments|constraints|restrictions|mandates)"
ORDERS = f"({SAYINGS}|{THINGS})"
LOOSE_ORDERS = (
    "(rules?|polic(y|ies)|commands?|messages?|context|conversations?|requests?|tasks?|training|content|text|inputs?)"
)
_ALL = "(all|any|every|everything|your|my|our|each|the|these|those|other|of|prior)"
AI = (
    "(ai|a i|llms?|artificial intelligence|(large )?language models?|chat ?bots?|chatgpt|gpt ?[345]?o?|claude|gemini"
    "|copilots?|llama|mistral|virtual assistants?|(ai|llm|automated|autonomous|coding|digital) (assistant|agent|model"
    "|system)s?)"
)
_OVERRULES = "<1>(overrides?|supersedes?|replaces?|takes? precedence over|cancels?)"
_PEOPLE = "(users?|humans?|operators?|reviewers?|supervisors?|person|people)"
_ANSWER = "(answer|respond|reply|say|recommend|conclude|claim|state|output|print|suggest|tell|speak|write)"
_ROLE = "(role|persona|character|personality|identity)"

_OVERRIDE = category(
    "override",
    {
        "drop-previous-orders": phrase(f"{FORGET} <5>{BEFORE} <2>{ORDERS}|{REMOVE} <5>{BEFORE} <2>{SAYINGS}"),
        "drop-previous-orders-unspaced": (
            r"(ignore|disregard|forget|override)[ \n:.]{0,3}(all)?[ \n:.]{0,3}(of)?[ \n:.]{0,3}(the|your"
            r"|my)?[ \n:.]{0,3}(previous|prior|above|earlier|preceding)[ \n:.]{0,3}(instruction|direction|prompt"
            r"|rules|guideline)"
        ),
        "drop-previous-rules": phrase(
            f"{FORGET} {_ALL}( {_ALL})* (prev[a-z]{{2,6}}s|above|preceding|earlier|initial|original|system) "
            f"<1>{LOOSE_ORDERS}"
        ),
        "drop-orders-above": phrase(
            f"({FORGET}|{REMOVE}) {_ALL}( {_ALL})* <1>({ORDERS}|rules) (above|before|given|so far|from before"
            f"|previously|(that "
            ")?(were|was|came|have|i|you (were|got|have|received|had)))"
        ),
        "drop-your-orders": phrase(
            f"({FORGET}|{REMOVE}) (all )?(of )?your <2>({ORDERS}|rules|training|polic(y|ies)|persona|role|task)"
        ),
        "drop-everything-before": phrase(
            f"({FORGET}|{REMOVE}) (everything|anything|all|whatever) <2>((that )?(i|we|you|they|was|were|has|came)("
            f" (have|has|had"
            "|were|was|been|ever))* <1>(said|told|written|instructed|asked|learn(ed|t)|know|given|taught|before"
            "|above|trained)|((written|said|stated|mentioned|listed) )?(above|before|previously|until now|so far))"
        ),
        "drop-orders": sentence(f"(ignore|disregard|forget)( {_ALL})* {ORDERS}"),
        "orders-override": phrase(
            f"((this|these|following|new|below|my|our) <2>({ORDERS}|message|note|text|rules) {_OVERRULES} "
            f"{_ALL}( {_ALL})* <2>({ORDERS}|messages)"
            f"|(this|these|following|below|my) <2>({ORDERS}|message|note|text) {_OVERRULES} {_ALL}( {_ALL})* "
            "<2>(rules|policies))"
        ),
        "new-orders": phrase(
            "your (new|updated|real|actual|true|only|revised|next|primary|main|sole) (task|instructions?|goal"
            "|objective|role|mission|purpose|job|orders|directives?|prompt|persona|identity) (is|are|will be|now)"
        ),
    },
    {
        "remove-previous-things": phrase(f"{REMOVE} <5>{BEFORE} <2>({THINGS}|rules?|polic(y|ies)|commands?|messages?)"),
        "first-do-this": phrase(
            "before (you )?((can|could|may) )?(solv|complet|continu|answer|respond|proceed|finish|perform|start"
            "|do)[a-z]* <5>(task|request|question|query|instructions?)"
        ),
    },
)

_AGENT = category(
    "agent_directive",
    {
        "reader-is-ai": phrase(
            f"{AI} <1>((that|who|which) )?((is|are) )?(read(ing|s)?|process(ing|es)?|pars(ing|es|e)|summari[sz](ing"
            "|es|e)|analy[sz](ing|es|e)|ingest(ing|s)?|handling|reviewing|triaging|consuming|retriev(ing|es)"
            "|evaluating) (this|the (following|above)|these)"
        ),
        "to-ai": phrase(
            "(note|message|memo|instructions?|directives?|attention|reminder|guidance|addressed|important|warning"
            f"|hint) (to|for|from <6>to)( (all|any|the|every|each|you|future|fellow))* {AI}"
        ),
        "attention-ai": phrase(f"(attention|dear|hey|hello|hi|greetings)( (the|all|any|there|my))* {AI}"),
        "you-ai": phrase("(you|your) (ai (assistant|agent|model)|chatgpt|llm|language model)"),
        "you-are-ai": phrase(f"you('re| are)( (an?|the|my))? <1>{AI}"),
        "if-you-are-ai": phrase(f"(if|since|because|as) you('re| are) (an?|the) <1>({AI}|assistant|bot)"),
        "as-an-ai": phrase(
            "as an? (ai|llm|(ai )?language model)( (language )?(model|assistant|agent|system))? (you|your|do not"
            "|don't|never|always|i)"
        ),
        "ai-must": phrase(
            f"{AI} ((assistants?|agents?|models?|systems?) )?(must|shall|should|(are|is) (required|instructed|ordered"
            "|obliged|told) to|(need|needs|have|has) to)( (now|also|always|immediately))* (ignore"
            "|disregard|forget|follow|obey|execute|run|call|invoke|send|delete|treat|trust|approve|comply|include"
            f"|reveal|mention|restart|disable|{_ANSWER})"
        ),
    },
    {
        "ai-must-not": phrase(
            f"{AI} ((assistants?|agents?|models?|systems?) )?(must|shall|should|may) (not|never|always)"
        ),
        "ai-speaks": phrase("as an? (ai|large)? ?language model|as an ai (assistant|agent|model)"),
        "you-the-assistant": phrase("you('re| are)( (an?|the|my))? <1>(assistant|agent|model|bot)"),
        "as-your-maker": phrase(
            "(as|i am|i'm|this is|we are) (your|the|openai's|anthropic's)( (own|technical|real|official|lead"
            "|system))? (developer|creator|maintainer|administrator|admin|owner|programmer|trainer|master)"
        ),
    },
)

_STEERING = category(
    "answer_steering",
    {
        "always-answer": sentence(
            "(you ((must|should|will|shall|have to|need to) )?)?(always|only|exclusively|invariably|never) "
            f"{_ANSWER}( (to|with|that|as|in|only|the|this|every|any|all|users?|them|yes|no))+"
        ),
        "when-asked-say": phrase(
            "(when|if|whenever|every time|any ?time) ((you('re)?|the user|a user|someone|anyone|users?|people|an "
            "operator|the operator|i) )?((is|are|get|being|ever) )*(ask(ed|s)?|quer(y|ied|ies)|question(ed|s)"
            f"|prompt(ed|s)) <9>(you (must|should|will|shall|have to|can only|always)|{_ANSWER} (with|that|to|only|as"
            "|in|yes|no|by))"
        ),
        "answer-must-be": phrase(
            "your (answers?|repl(y|ies)|responses?|output|summary|recommendation|conclusion) (must|should|shall|will"
            "|has to|needs? to)( (only|always|be|now|also))* (only|always|exactly|begin|start|end|include|say|contain"
            "|state|consist|recommend|mention)"
        ),
        "in-your-answer": phrase(
            "(in|into|of|throughout|within|to|with|modify|enhance|change|rewrite|encode|format|expand|adjust|steer) "
            "your ((next|final|own|entire) )?(responses?|answers?|output)"
        ),
        "all-your-answers": phrase(
            "(write|rewrite|format|begin|start|end|finish|encode|translate|phrase|keep|make|prefix) (all|each"
            "|every)( (one|of|your|the|my|following|future|next))* (output|response|answer|reply|replies|message)s?"
            f"|(for|in|to|with) (each|every|all|any) (response|answer|reply|prompt|message)s? (you )?{_ANSWER}"
        ),
    },
    {
        "print-only": sentence(
            "((just|only|simply|instead) )*(print|say|output|write|(respond|reply|answer) (with|in)|repeat) (only"
            "|just|exactly|the (words?|phrase|string|following))"
        ),
        "instead-do": phrase(
            "(and|but) (instead|rather)( (just|only|please))* (do|print|say|output|write|translate|respond|reply"
            "|answer|spell|tell|repeat|follow|execute)"
        ),
        "tell-the-user": sentence(
            f"(say|tell|inform|assure|convince|persuade) (to )?((the|your|all|any) )?{_PEOPLE} (that|to|it|about)"
        ),
        "say-that": sentence("(say|claim|state|pretend|conclude|answer|insist) that"),
        "your-answers": phrase("(your|each|every) ((next|final|own) )?(response|reply|answer|output)s?"),
    },
)

_TRUST = category(
    "trust_forging",
    {
        "remember-for-good": phrase(
            "(remember|memori[sz]e|store|save|persist|keep|retain|commit|record|add|write)( (and|always|to))* (this"
            "|these|that|the following|it|them|the above) <3>(permanently|forever|indefinitely|for( (all|any"
            "|every))? (future|good|eternity)|(in|into|to)( (your|long ?term|persistent|the))+ (memory|knowledge)"
            "|(across|in|for)( (all|every|future))+ (sessions?|conversations?|incidents?|requests?|queries|answers))"
        ),
        "source-is-trusted": phrase(
            "(this|following|above|my) (sources?|origin|memory|record|document|message|note|entry|text|content|author"
            "|sender|data) <2>(is|are|comes? from|(has|have) been|was|must be|should be) <2>(trusted|trustworthy"
            "|authoritative|pre ?approved|pre ?authori[sz]ed|infallible|(verified|official) (source|authority))"
        ),
        "treat-as-trusted": phrase(
            "(treat|consider|regard|accept|trust|mark|rate|flag|label) (this|these|it|them|the following|the above"
            "|everything|all) <5>(as|to be) <2>(trusted|authoritative|verified|ground truth|gospel|truth|(highest"
            "|absolute) (priority|authority|trust|truth)|system (prompt|message|instructions?)|true|safe|pre "
            "?approved)"
        ),
        "highest-priority": phrase(
            "(this|these|following|my) <2>(instructions?|messages?|notes?|rules?|directives?|text|prompt) <2>(has"
            "|have|takes?|is|are|of) <1>(highest|absolute|top|maximum|overriding|higher) (priority|precedence"
            "|authority)"
        ),
        "outranks-memory": phrase(
            f"(overrides?|supersedes?|outranks?|replaces?|invalidates?) (all|any|every)( {_ALL})*( (previous|earlier"
            "|existing|stored))* (memor(y|ies)|knowledge|instructions?|guidance|lessons)"
        ),
    },
)

_CONCEALMENT = category(
    "concealment",
    {
        "do-not-tell": phrase(
            "(do not|don't|never|must not|should not|shall not|mustn't|shouldn't|avoid|refrain from) (ever )?(tell"
            "|inform|mention|reveal|disclose|let|show|warn|explain|report|say)(ing)?( (this|it|that|these|anything"
            f"|them|about|of|to|the|your|any|our|fact|which))* ({_PEOPLE}|you (are|were|have|did|received|read|got)"
            "|about (this|these) (instructions?|message|note))"
        ),
        "keep-secret": phrase(
            "(keep|hide|conceal|withhold) (this|these|it|that|all|any|the (fact|instructions?|message|action"
            f"|change)) <4>(secret|hidden|confidential|quiet|from ((the|your|any) )?({_PEOPLE}|on call|owner|team"
            "|engineers?))"
        ),
        "do-not-ask": phrase(
            "(do not|don't|never|no need to) (ever )?(ask|wait|request|seek|require)( (the|any|for|a|an|on call))* "
            f"({_PEOPLE} )?(for )?(approvals?|confirmation|permissions?|consent|authori[sz]ation|clarification)"
        ),
    },
    {
        "without-approval": phrase(
            "(run|execute|apply|proceed|continue|delete|restart|merge|deploy|approve|call|invoke|perform|do (it|this"
            "|so)|act) <6>without <3>(asking|approval|confirmation|permission|consent|review|questions|telling"
            f"|informing {_PEOPLE})"
        ),
        "silently-do": sentence(
            "(silently|quietly|secretly|covertly|discreetly) (run|execute|delete|send|call|add|change|disable|upload"
            "|append|include|forward|apply|insert)"
        ),
    },
)

_LEAK = category(
    "prompt_leak",
    {
        "reveal-prompt": phrase(
            "(reveal|show|print|repeat|output|display|share|paste|leak|give|tell|list|disclose|return|write|dump|echo"
            "|recite|summari[sz]e|translate|expose|quote|provide|describe|copy|state|spell ?check)( (me|us|out|back"
            "|down|here|all|of|to|exactly|verbatim|what))* (your|the|its|his|this) (<2>(system|initial|original"
            "|hidden|secret|first|developer|full|entire|exact|internal|core|base|previous|above|starting|complete) "
            "<2>(prompts?|instructions|directives|guidelines|system messages?)|((own|exact|system) )*prompt)"
        ),
        "prompt-you-were-given": phrase(
            "(prompt|instructions?|directives|guidelines|rules|text|words|message|everything|what)( (that|which))? "
            "(you (were|have been|are|got|had been) (given|told|instructed|provided|programmed|following|initialized)"
            "|(were|was) (given|provided) to you)"
        ),
        "your-system-prompt": phrase(
            "(your|the model's|its|(assistant|ai|chatgpt|claude)'s) (system|initial|original|developer|hidden|first"
            "|full|entire|secret) (system )?(prompts?|instructions?)"
        ),
        "from-your-prompt": phrase(
            "(from|in|of|verbatim) your (prompt|system message|instructions)|(guidelines|rules|instructions) you "
            "((must|have to) )?(follow|operate under|obey)"
        ),
        "words-above": phrase(
            "(repeat|print|output|copy|recite|echo|say|write|translate)( (out|all|back|every|exactly|of|the))* "
            "(words?|text|content|lines|sentences|tokens|everything|characters) (written )?(above|before|preceding"
            "|prior)"
        ),
        "hidden-reasoning": phrase(
            "(show|reveal|provide|print|share|give|output|disclose|expose)( (me|us))? (your|all|every|the) <4>(chain "
            "of thoughts?|(hidden|internal|inner) (reasoning|thoughts|monologue))"
        ),
    },
    {
        "share-your-configuration": phrase(
            "(share|show|reveal|print|output|give|paste|dump|disclose|tell)( (me|us|with))* your (configuration"
            "|config|settings|rules|guidelines|instructions|source code|secrets|credentials|keys|tools|functions)"
        ),
    },
)

RULES = (*_OVERRIDE, *_AGENT, *_STEERING, *_TRUST, *_CONCEALMENT, *_LEAK)
