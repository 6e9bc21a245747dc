"""The rules on orders that are worded as statements: what no longer applies, what nobody needs to know, what is true.

They are of the categories of `scan_rules`, which has the same orders worded as orders.
"""

from twiceshy.core.scan_patterns import category, phrase, sentence
from twiceshy.core.scan_rules import AI, BEFORE, FORGET, ORDERS, SAYINGS

_VOID = (
    "(((is|are|was|were|has been|have been) )?((now|hereby|all|henceforth|being) )*(revoked|cancell?ed|rescinded"
    "|annulled"
    "|nullified|void(ed)?|null and void|withdrawn|lifted)"
    "|no longer (apply|applies|count|counts|matter|matters|bind|(is|are|in|be) (valid|force|binding))"
    "|(do|does) not (apply|count|matter) (any ?more|any longer)"
    "|(must|should|shall|can|may|are to|is to) (now |all )?be (ignored|disregarded|forgotten|discarded))"
)
_HUMAN = "(users?|humans?|operators?|reviewers?|supervisors?|person|people|on call|owners?|anyone|anybody)"
_RECORD = "(memory|record|entry|note|lesson|message|text|incident|ticket|document)"
_READS = "(consum|ingest|read|process|retriev|pars|summari[sz]|triag)[a-z]*"
_ADVISE = "(answer|respond|reply|say|recommend|suggest|advise|propose|conclude|tell)"

_OVERRIDE = category(
    "override",
    {
        "orders-are-void": phrase(
            f"{BEFORE} <1>({SAYINGS}|directives?) <1>{_VOID}"
            f"|({ORDERS}|rules) (that )?(you|i|we) <3>(got|received|given|had|told|followed|gave|have|know) <3>{_VOID}"
            "|nothing (above|before|written|said|stated) <4>(matters|applies|counts|is valid)"
        ),
        "drop-what-was-said": phrase(
            f"{FORGET} what(ever)? <3>(before|above|earlier|previously|told|instructed)|the opposite of (your|the|all"
            f"|any) "
            f"<2>{ORDERS}"
        ),
    },
    {"task-changed": phrase("your (task|job|goal|mission|objective|role) (has )?changed")},
)

_AGENT = category(
    "agent_directive",
    {
        "whichever-reads": phrase(
            f"(whichever|whatever|any|every|each) <1>({AI}|model|bot|agent|automation|assistant) (that |which"
            f" )?{_READS} "
            f"(this|these|the (following|above))|(automation|bots?|agents?|models?|assistants?) (that |which"
            f" )?{_READS} this "
            f"{_RECORD} (should|must|shall|will|has to|have to|needs? to)"
        ),
        "for-ai-only": phrase(f"for( (the|an?|any))? {AI} (eyes|readers|consumption|use) only|for {AI}('s)? eyes"),
    },
)

_STEERING = category(
    "answer_steering",
    {
        "answer-only": sentence(
            "(respond|reply|answer) (only|just|solely|exclusively|always) (with|in|by)|(respond|reply|answer) (with"
            "|by) "
            "(only|just|exactly|nothing but)"
        ),
        "whenever-it-comes-up": phrase(
            "(when|whenever|if|every time|any ?time) <6>(comes? up|(is|are|gets?) (mentioned|raised|discussed|asked"
            " about)) "
            f"((always|only|just|please|you (must|should)) )*{_ADVISE}"
        ),
        "only-right-answer": phrase(
            "(only|single) (correct|right|valid|acceptable|true) (answer|reply|recommendation|conclusion) <7>is"
        ),
        "answer-mentions": sentence(
            "(make sure|ensure|see to it) (that )?(the|your|any|every|all) ((final|next) )?(answers?|repl(y|ies)"
            "|recommendations?"
            ") (mentions?|includes?|contains?|says?|recommends?|states?|ends? with|begins? with)"
        ),
    },
    {
        "final-answer": sentence("the final (answer|conclusion|recommendation) is"),
        "always-advise": sentence("(always|only|never) (recommend|suggest|advise|propose) [a-z]+ing"),
    },
)

_TRUST = category(
    "trust_forging",
    {
        "into-memory": sentence(
            "(add|save|store|commit|write|record|persist)( (this|that|it|the following))* (to|in|into) "
            "((your|the) )?((long ?term|permanent) memory|your <1>memory)"
        ),
        "kept-for-later": sentence(
            "(persist|remember|memori[sz]e|retain|store|save|keep) (this|these|it|that) <2>(for|in|across) (all|every"
            "|any) "
            "(later|coming|future|subsequent|upcoming) (incidents?|requests?|sessions?|conversations?|answers?)"
        ),
        "precedence-over-memory": phrase(
            "(takes?|has|have) (precedence|priority) over (all|any|every)( (other|previous|earlier|existing|stored"
            "|the))* "
            "(memor(y|ies)|knowledge|instructions?|guidance|lessons)"
        ),
        "must-be-followed": phrase(f"(this|the above) {_RECORD} <5>must be (followed|obeyed|trusted|believed)"),
    },
    {"pre-approved": phrase("(has|have|is|was|are|were)( (already|been|all))* pre ?(approved|authori[sz]ed)")},
)

_CONCEALMENT = category(
    "concealment",
    {
        "no-need-to-tell": phrase(
            f"(there is|there's) no (need|reason) to (tell|inform|alert|involve|bother|notify|ask) ((the|any|your|a)"
            f" )?<1>{_HUMAN}"
            "|no (human|one|body|person|operator|user) (needs|has) to know"
            f"|(do not|don't|never) (bother|trouble|disturb) ((the|any|your|a) )?{_HUMAN} (with|about|for)"
        ),
        "between-us": phrase("keep (this|it|that) (strictly )?between (us|you and me|ourselves)"),
        "unnoticed": sentence(
            "(do|run|execute|apply|perform|delete|change|make|merge) (this|it|so|that|them|the following) <3>without "
            f"({_HUMAN}|them|the <1>{_HUMAN}) (noticing|knowing|seeing|reali[sz]ing|finding out)"
        ),
    },
    {
        "skip-approval": sentence(
            "(skip|bypass|omit|waive|forgo) ((the|any|all|every) )?((human|manual|usual) )?(approvals?|confirmation"
            "|review"
            "|sign off|authori[sz]ation)"
        ),
    },
)

_LEAK = category(
    "prompt_leak",
    {
        "your-context": phrase(
            "(print|dump|repeat|output|show|reveal|list|everything|reply with) <6>(in|of|from) your (context( window)?"
            "|conversation|system message)"
        ),
        "text-that-precedes": phrase(
            "(repeat|print|output|copy|recite|echo|dump|write|translate) (the )?(words?|text|content|lines|everything)"
            " (that )?"
            "(precedes?|preceded|came before|comes before) (this|the|my)"
        ),
    },
)

RULES = (*_OVERRIDE, *_AGENT, *_STEERING, *_TRUST, *_CONCEALMENT, *_LEAK)
