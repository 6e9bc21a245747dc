"""The rules on roles that a model is told to take, and on rules that it is told to be free of."""

from twiceshy.core.scan_patterns import category, phrase, sentence

_AI = "(ai|assistant|model|chat ?bot|bot|gpt|chatgpt|language model)"
_PART = "(role|persona|character|personality|identity)"
_PLAY = (
    "(act(ing)?|pretend(ing)?|play(ing)?|role ?play(ing)?|impersonate|simulat(e|ing)|behave|pos(e|ing)|emulate"
    "|immerse|embody|transform|speak|talk|portray|becom(e|ing)|respond|reply|answer)"
)
_AS = "(as|like|the (role|part|character)|to be|a|an|into|out|yourself|that you)"
_FREEDOM = "(unfiltered|uncensored|unrestricted|unlimited|amoral|nonmoral|immoral|unethical|jailbroken|unhinged)"

_PERSONA = category(
    "persona",
    {
        "you-play": phrase(
            "(you|chatgpt|gpt)( ('re|'ll|are|will|shall|must|should|need|have|going|about|supposed|required|now|to"
            f"|only|also|always|be))+ {_PLAY} {_AS}|you (are|'re)( (now|also|both))? (acting|pretending|playing|role "
            f"?playing) {_AS}"
        ),
        "you-take-a-role": phrase(
            "(you|chatgpt|gpt) <4>(take on|assume|adopt|play|portray|embody|immerse yourself in(to)?) (the|a|an) "
            "<2>(persona|character|personality|role of|role as)"
        ),
        "i-want-you-to": phrase(
            "(i|we) (want|need|would like|'d like|'ll need|ask|order|command|expect|wish|direct|implore|urge|require"
            f"|beg)( for)? (you|chatgpt|gpt) to <2>({_PLAY}|be|ignore|forget|write|provide|generate|create|imagine"
            "|assume|adopt|take|add|help)"
        ),
        "act-as": sentence(
            "(act|pretend|behave|role ?play|respond|reply|answer|speak|write|talk|pose) (as|like|to be|that you|you "
            "are|you're)( (if|though|a|an|the|my|your|you|are|were))* <2>(ai|assistant|model|chat ?bot|character"
            f"|persona|expert|hacker|{_FREEDOM}|evil|you|chatgpt|gpt|dan|human|terminal|console|interpreter)"
        ),
        "you-are-now": phrase(
            "you('re| are|re)( (going|about))?( to be| to become)? (now|no longer|henceforth) <2>(an?|the|dan|bound"
            f"|limited|restricted|chatgpt|ai|under|acting|playing|subject|known|called|my|free|required|{_FREEDOM}"
            "|evil|assistant|character|in <1>(developer|debug|dan|god|admin|root|jailbreak|opposite) mode)"
        ),
        "from-now-on-you": phrase(
            "(from now( on(wards?)?)?|henceforth|from this (moment|point)( on(wards?)?| forward)?|starting now|for "
            "the (rest|remainder) of (this|our|the) (conversation|chat|session)|in this (conversation|chat|session)) "
            "(you|your|whenever you|i|act|pretend|respond|answer|reply|speak|every|always|chatgpt)"
        ),
        "do-anything-now": phrase("do anything now"),
        "named-mode": phrase(
            f"(dan|jailbr[eo]a?k(ed|en)?|god|{_FREEDOM}|evil|nsfw|opposite|anti ?gpt|no ?filter) ?mode|developer "
            "mode (output|enabled|response)"
        ),
        "stay-in-character": phrase(
            "(stay|remain|staying|remaining|stays|break|breaking|breaks) ((in|out of|your|the) )*character"
        ),
        "two-answers": phrase(
            "(answer|respond|reply|responses?|answers?|prompts?|questions?) <6>(in|with|as|generate|give|provide) "
            "(two|2|both)( (different|separate|distinct|unique|other))* (ways|responses|manners|styles|answers|forms"
            "|versions|paragraphs)"
        ),
        "persona-named": phrase(
            f"(role|persona|character|identity|{_AI})( (of|as))? <4>(named|called|known as|nicknamed|titled|which "
            "stands for|who goes by)"
        ),
        "lets-play": phrase(
            "(let's|let us|we('re| are)( going to)?) (now )?(play (a|the|out)|role ?play|act out|pretend)"
        ),
        "become": sentence(
            f"(transform( yourself)? into|become|embody|impersonate|channel|(take on|assume|adopt) the {_PART} of"
            f"|simulate|emulate|immerse yourself)( (a|an|the|in|into))* <4>({_AI}|expert|persona|character"
            "|conversation|dialogue|personality|role|named|called)"
        ),
    },
    {
        "your-role": phrase(
            f"your ({_PART}|name|job|mission|backstory|traits?) (is|will be|as|are)|you('ll| will| must| shall| can "
            "only| may only)( (now|also|always|never|only))* (be|become|play|respond|answer|reply|speak|refuse|obey"
            "|comply|generate|ask|say|refer|begin|ignore|assume|know|roleplay)"
        ),
        "character-sheet": phrase(
            f"{_PART} (name|age|gender|traits?|description|sheet|background|likes|dislikes|appearance)"
        ),
        "fictional-frame": phrase(
            "(hypothetical|fictional|fictitious|imaginary|alternate|parallel) (scenario|world|story|setting|universe"
            "|situation|character|conversation|dialogue|tale|response|place)"
        ),
    },
)

_LIMITS = (
    "(restrictions|limitations|filters?|guidelines|confines|boundaries|guardrails|inhibitions|censorship|constraints)"
)
_ETHICS = (
    "(ethic(s|al|ally)?|moral(s|ity|ly)?|legality|legalities|content polic(y|ies)|openai('s)?( content)? (polic(y"
    "|ies)|guidelines|rules|restrictions)|censorship|safety (guidelines|filters|measures|protocols))"
)

_GUARDRAILS = category(
    "guardrail_evasion",
    {
        "no-limits": phrase(f"{_FREEDOM} <3>({_AI}|responses?|answers?|persona|character|output|version)"),
        "ignores-ethics": phrase(
            "(no|without|regardless of|free (of|from)|bypass(es|ing)?|irrespective of|ignor(e|es|ing)|beyond|lacks?"
            "|lost|violat(e|es|ing)|against|concern for|no matter|(not|don't|doesn't) (have|care|follow|obey)) "
            f"<5>{_ETHICS}"
        ),
        "free-of-limits": phrase(
            "(free (of|from)|not (bound|limited|restricted|constrained) by|(do(es)? not|doesn't|don't) (have|abide "
            "by|follow)|broke(n)? (free|out) (of|from)|break free (of|from)|liberated from|unbound by|no longer "
            f"(bound|have)|without any|has no|have no) <4>{_LIMITS}"
        ),
        "never-refuse": phrase(
            "(never|not|cannot|can't|won't|doesn't|don't|unable to|without|must not) <1>(refus(e|es|al|als|ing)"
            "|decline|turn down|apologi[sz]e|disclaimers?|warnings) <2>(to )?(answer|respond|any|a|my|comply"
            "|requests?|prompts?|questions?|users?|human|order|me|fulfill|follow|say|for|or)"
        ),
    },
    {
        "breaks-rules": phrase(
            "jailbr[eo]a?k(s|ed|ing)?|break (the|any|all) rules|anything goes|illegal (content|activit(y|ies)|things"
            "|information)|(harmful|offensive|explicit|nsfw|immoral|unethical|toxic) <1>(content|language|information"
            "|responses?|requests?)"
        ),
        "my-prompts": phrase("(my|each|every|following|user's|users) ((first|next|last) )?prompts?"),
        "model-and-rules": phrase(
            "(openai|chatgpt|gpt|language model|ai model|chat ?bot) <2>(policy|policies|guidelines|restrictions"
            "|censorship|would|persona|character|normally|no longer|simulator)"
        ),
    },
)

RULES = (*_PERSONA, *_GUARDRAILS)
