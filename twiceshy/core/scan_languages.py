"""The rules on dropping earlier orders, on taking a role and on giving prompts away, in languages other than English.

All is written as `letters.folded` leaves it: lower case and without accents (ß as ss, the Polish l without its stroke,
the Russian short i as и). A hyphen ends a stem and stands for any ending.
"""

from dataclasses import dataclass

from twiceshy.core.scan_patterns import GAP, LETTER, MEDIUM, STRONG, Rule, gapped, up_to

_START = r"(?:^|[ \n:.])"
_END = r"(?:[ \n:.]|$)"
_NEAR = r"[^.]{0,12}"


@dataclass(frozen=True, slots=True)
class Words:
    """How a language says to drop what was said before: verbs of dropping, "previous", and nouns for orders.

    ``loose`` are the nouns that a firewall, a queue and a database have as well."""

    drop: str
    before: str
    orders: str
    loose: str


WITH_BLANKS = {
    "german": Words(
        "ignorier(e|en|t)?|vergiss|vergessen|vergesst|missacht-|uberschreib-|verwirf|verwerf-|uberspring-|umgeh-"
        "|beachte-|befolg-",
        "vorherig-|vorig-|bisherig-|obig-|fruher-|vorangegang-|vorangehend-|vorstehend-|vorausgehend-|davor|zuvor"
        "|oben|ursprunglich-",
        "anweisung-|instruktion-|prompt-|aufforderung-|anordnung-|system ?prompt-|systemanweisung-",
        "befehl-|regel-|vorgabe-|richtlinie-",
    ),
    "french": Words(
        "ignor(e|es|ez|er|ons)|oubli(e|es|ez|er)|neglige-|outrepasse-|contourne-|desobei-|tenez|tiens"
        "|faites abstraction|fais abstraction|ne (suivez|suis|respectez|respecte) (pas|plus)|n'obeiss?(ez|s) (pas"
        "|plus)|faire abstraction",
        "precedent-|anterieur-|prealable-|ci dessus|dessus|initia(l|le|les|ux)|avant|recue?s",
        "instructions?|consigne-|directive-|ordres?|prompts?|indication-",
        "regle-|commande-|contrainte-",
    ),
    "spanish": Words(
        "ignor(a|e|ad|en|ar|es)|olvid(a|e|ad|en|es|emos)|omit(e|a|ir|an)|descart(a|e|ar)|desatiend-|desobedec-"
        "|desestim-|no hagas caso|pasa por alto|no (sigas?|sigan|obede(zcas?|zcan)|respetes?|prestes? atencion"
        "|tengas? en cuenta)|ha(z|ga|gan) caso omiso|dej(a|e) de seguir",
        "anterior-|previ(a|as|o|os)|precedent-|de arriba|arriba|iniciale?s?|recibid-|dad(a|as|o|os)",
        "instruccion-|indicacion-|orden|ordenes|directri-|directivas?|prompts?",
        "reglas?|comandos?|normas?",
    ),
    "portuguese": Words(
        "ignor(a|e|em|ar)|esquec-|descart(a|e|ar|em)|desconsider-|desobedec-|omit(a|ir|am)|nao (siga|sigas|obedec-"
        "|leve em conta|considere)|(deixe|pare) de seguir",
        "anterior-|previ(a|as|o|os)|precedent-|acima|iniciai?s?|recebid-|dad(a|as|o|os)",
        "instruc-|ordens|ordem|diretri-|diretivas?|prompts?|orientac-",
        "regras?|comandos?",
    ),
    "italian": Words(
        "ignor(a|i|ate|are|iamo)|dimentic-|trascur-|scart(a|i|ate|are)|disattend-|tralasci-|non seguire"
        "|non considerare|non (tener|tenere|tenete|tenga) conto|non (segui|seguite|rispettare|obbedire)|smett(i"
        "|ete) di seguire|lascia perdere",
        "precedent(e|i)|antecedent(e|i)|anteriori|sopra|di prima|inizial(e|i)|ricevut-",
        "istruzion-|direttiv-|ordin(e|i)|prompt|indicazion-",
        "regol-|comand(o|i)|vincol-",
    ),
    "dutch": Words(
        "negeer-|vergeet|vergeten|ignoreer-|veronachtza-|omzeil-|overschrijf",
        "vorige|eerdere?|voorgaand-|bovenstaand-|voorafgaand-|hierboven|oorspronkelijk-",
        "instructie-|opdracht-|aanwijzing-|richtlijn-|prompts?|bevel-|systeemprompt",
        "regels?",
    ),
    "polish": Words(
        "zignoruj-|ignoruj-|zapomnij-|pomin(ac)?|pomijaj-|odrzuc(ic)?|lekcewaz-|nie (stosuj|przestrzegaj|wykonuj"
        "|sluchaj)-",
        "poprzedni-|wczesniej-|powyzsz-|dotychczasow-|uprzedni-|pierwotn-",
        "instrukcj-|polece-|wytyczn-|rozkaz-|prompt-",
        "regul-|zasad-|komend-|ograniczen-",
    ),
    "russian": Words(
        "игнорируи-|проигнорируи-|игнорировать|забудь-|отбрось-|пренебре-|не (обращ|следу|выполня|соблюда)-",
        "предыдущ-|прежн-|предшеств-|вышеуказан-|вышеизложен-|ранее|прошл-|выше|исходн-|первоначальн-|данн-",
        "инструкц-|указан-|распоряжен-|промпт-|директив-|приказ-|предписан-",
        "команд-|правил-|ограничен-",
    ),
    "ukrainian": Words(
        "ігнору-|проігнору-|забуд-|відкин-|нехту-|не (зважа|виконув|дотриму)-",
        "попередн-|наведен-|вище|раніш-|колишн-|надан-|початков-",
        "інструкц-|вказівк-|розпоряджен-|промпт-|директив-|наказ-",
        "команд-|правил-|обмежен-",
    ),
    "czech": Words(
        "ignoruj-|zapomen-|pomin-|nedbej-|nerespektuj-",
        "predchoz-|predesl-|drivejs-|vyse|puvodn-|dosavadn-",
        "instrukc-|pokyn-|prikaz-|prompt-|smernic-",
        "pravid-|omezen-",
    ),
    "swedish": Words(
        "ignorera-?|glom|bortse|asidosatt|strunta|folj inte|bry dig inte om",
        "tidigare|foregaende|ovanstaende|ursprunglig-|ovan|innan",
        "instruktion-|anvisning-|riktlinj-|prompt-|order|direktiv-",
        "regler|regel-|kommando-",
    ),
    "romanian": Words(
        "ignora(ti)?|uita(ti)?|nu respecta(ti)?|nu urma(ti)?",
        "anterioa?r-|precedent-|de mai sus|sus|initial-",
        "instructiun-|ordin-|prompt-|directiv-|indicatii-",
        "regul-|comenz-",
    ),
    "indonesian": Words(
        "abaikan|lupakan|hiraukan|kesampingkan|jangan (ikuti|patuhi|turuti)",
        "sebelum(nya)?|terdahulu|di atas|atas|awal|semula",
        "instruksi-|perintah-|petunjuk-|prompt-|arahan-|pedoman-",
        "aturan-",
    ),
    "vietnamese": Words(
        "bo qua|quen|phot lo|dung (lam theo|tuan theo|nghe theo)",
        "truoc( do)?|o tren|phia tren|tren|ban dau",
        "huong dan|chi dan|chi thi|menh lenh|lenh|prompt|yeu cau",
        "quy tac",
    ),
}
WITH_BLANKS["hungarian (verb first)"] = Words(
    "figyelmen kivul (hagyd|hagyja)|hagyd figyelmen kivul|felejtsd el|felejtse el|mellozd|ne kovesd",
    "korabbi|elozo|fenti|eddigi|eredeti",
    "utasitas-|prompt-|iranyelv-|instrukcio-",
    "szabaly-|parancs-",
)
VERB_LAST = {
    "german (verb last)": Words(
        "ausser (acht|kraft)|nicht (mehr )?(beacht-|befolg-|gultig)|(zu )?ignorieren|(zu )?vergessen|ungultig"
        "|hinfallig",
        "vorherig-|vorig-|bisherig-|obig-|fruher-|vorangegang-|vorangehend-|ursprunglich-",
        "anweisung-|instruktion-|prompt-|systemanweisung-",
        "regel-|vorgabe-",
    ),
    "turkish": Words(
        "yok say(in|iniz)?|gormezden gel-|unut-|dikkate alma-|goz ardi et-|yoksay-|uyma(yin)?",
        "onceki|yukaridaki|daha onceki?|ilk|mevcut|verilen|bundan onceki|simdiye kadarki",
        "talimat-|yonerge-|emir-|emri-|prompt-|istem-|direktif-",
        "komut-|kural-",
    ),
    "hungarian": Words(
        "hagyd figyelmen kivul|hagyja figyelmen kivul|felejtsd el|felejtse el|mellozd",
        "korabbi|elozo|fenti|eddigi|eredeti",
        "utasitas-|prompt-|iranyelv-|instrukcio-",
        "szabaly-|parancs-",
    ),
    "hindi": Words(
        "अनदेखा|नज़रअंदाज़|नजरअंदाज|उपेक्षा|भूल|इग्नोर",
        "पिछले|पिछली|पिछला|पूर्व|पहले|उपरोक्त|ऊपर|सभी",
        "निर्देश-|आदेश-|हिदायत-|प्रॉम्प्ट-|अनुदेश-",
        "नियम-",
    ),
}
WITHOUT_BLANKS = {
    "chinese": Words(
        "忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|不要遵守|不用管|不必遵守|别管|抛弃|丢弃|放弃|跳过|绕过|覆盖|取消|忘了|不要再遵循|不要遵循|不再遵循|不要再听|不要听从"
        "|不要再执行|别再遵循|不必理会|作废",
        "之前|以前|以上|先前|前面|上述|上面|此前|前述|原来|原先|原有|原本|最初|所有|全部|一切|系统",
        "指令|指示|提示|命令|说明|說明|要求|对话|指引|准则|prompt",
        "规则|規則|设定|設定|约束|限制",
    ),
    "japanese": Words(
        "無視|忘れ|従わな|従うな|破棄|取り消|無効に|スキップ|捨て",
        "以前|これまで|上記|前の|今まで|先ほど|さっき|すべて|全て|最初|元の|既存|以上|あらゆる|今までの|直前",
        "指示|命令|プロンプト|指令|インストラクション|会話|ガイドライン",
        "ルール|制約|設定|規則",
    ),
    "korean": Words(
        "무시|잊어|잊으|따르지|폐기|취소",
        "이전|위의|앞의|앞선|지금까지|모든|기존|위에|먼저|처음|원래",
        "지시|명령|지침|프롬프트|안내|가이드라인",
        "규칙|설정|제한",
    ),
    "arabic": Words(
        "تجاهل|انس|تجاوز|اهمل|لا تتبع",
        "السابق|سابق|اعلاه|قبل|الاصلي|جميع|كل",
        "التعليمات|تعليمات|الاوامر|اوامر|التوجيهات|توجيهات|الارشادات",
        "القواعد",
    ),
}
"""Here a word may be grown together with its neighbours, and any of the three may come first."""

_NOW_YOU_ARE = (
    "du bist (jetzt|ab jetzt|nun|von nun an)|ab (jetzt|sofort) (bist|spielst|antwortest) du"
    "|tu es (maintenant|desormais)|vous etes (maintenant|desormais)|(a partir de maintenant|desormais) (tu|vous)"
    "|(ahora|a partir de ahora|desde ahora) (eres|seras|actuas|actuaras|responderas)|eres ahora"
    "|(agora|a partir de agora) (voce|tu) (e|sera|es)|voce (agora e|e agora)"
    "|(ora|adesso|da ora in poi) (sei|agisci|rispondi|sarai)|(je bent|u bent) (nu|vanaf nu)|vanaf nu (ben|bent) (je|u)"
    "|jestes (teraz|od teraz)|(teraz|od teraz) (jestes|bedziesz)"
    "|(теперь|отныне|с этого момента) (ты|вы)|(ты|вы) (теперь|отныне)|(artik|simdi|bundan (sonra|boyle)) sen"
)
_NOW_YOU_ARE_GROWN = (
    "你现在是|你現在是|从现在(开始|起) ?你|從現在(開始|起) ?你|现在开始 ?你|假装你是|请扮演|扮演一个|你将扮演"
    "|あなたは今から|今からあなた|これからあなたは|になりきって|のふりをして|として振る舞"
    "|이제부터 (너|당신|넌)|지금부터 (너|당신|넌)|너는 이제|당신은 이제|인 척|역할을 (해|맡)|انت الان|من الان فصاعدا"
)
_ALL_THAT_WAS_SAID = (
    "(vergiss|vergessen sie|ignorier(e|en sie)) (alles|das) <3>(gesagt|zuvor|vorher|bisher|davor|oben)"
    "|(oublie|oubliez|oublier|ignore|ignorez) (tout )?(ce )?(qu-) <4>(dit|avant|auparavant|precede)"
    "|(olvid(a|e|ad)|ignor(a|e|ad)) todo (lo )?(que )?<4>(dij-|dich-|antes|anterior)"
    "|(esquec(a|e)|ignore|desconsidere) tudo (o )?que <4>(dit-|disse-|antes|anterior-)"
    "|(dimentica|dimenticate|ignora|ignorate) (tutto )?(quello|cio|quanto) (che )?<4>(detto|prima|precede)"
    "|(vergeet|negeer) alles <4>(hiervoor|gezegd|eerder|hierboven)"
    "|(zapomnij|zignoruj) (o )?wszystk- <4>(powiedzi-|wczesniej|przedtem)"
    "|(забудь|забудьте|игнорируи|игнорируите) все <4>(раньше|ранее|говорил-|сказа-|до этого|выше)"
)
_ALL_THAT_WAS_SAID_GROWN = (
    "(忘掉|忘记|忽略|无视|無視)(你)?(之前|以前|上面|前面)[^.]{0,6}(一切|说的|說的|告诉|内容|的话)"
    "|(これまで|今まで)に?(言われた|言った|聞いた)[^.]{0,6}(忘れ|無視)"
)
_PROMPT_LEAK = (
    "(zeig|nenn|verrat|gib|wiederhol|druck|offenbar|montre|affiche|revele|repete|donne|muestra|revela|repite|imprime"
    "|dime|mostre|mostra|rivela|revele|repita|ripeti|toon|onthul|herhaal|pokaz|ujawnij|powtorz|покаж|раскро|повтор"
    "|вывед|goster|acikla)-"
)
_PROMPTS = (
    "system ?prompt-|prompts? (du )?systeme|instructions (systeme|initiales)|prompt (del|do|di) (sistema|sistem)"
    "|instrucciones (iniciales|del sistema)|instrucoes (iniciais|do sistema)|istruzioni (iniziali|di sistema)"
    "|systeemprompt|prompt systemowy|instrukcje systemowe|системн- (промпт|инструкц|подсказ)-"
    "|sistem (istemi|komutu|promptu)"
)


def _stems(words: str) -> str:
    """A group of alternatives, with the hyphens as endings and the blanks as gaps."""
    for end in ("|", ")", " "):
        words = words.replace(f"-{end}", f"{LETTER}*{end}")
    if words.endswith("-"):
        words = words[:-1] + f"{LETTER}*"
    return gapped(words)


def _with_blanks(words: Words, orders: str) -> str:
    drop, before, orders = _stems(words.drop), _stems(words.before), _stems(orders)
    first = f"{before}{GAP}{up_to(2)}{orders}"
    last = f"{orders}{GAP}{up_to(3)}{before}"
    return rf"{_START}{drop}{GAP}{up_to(5)}(?:{first}|{last}){_END}"


def _verb_last(words: Words, orders: str) -> str:
    drop, before, orders = _stems(words.drop), _stems(words.before), _stems(orders)
    return rf"{_START}{before}{GAP}{up_to(3)}{orders}{GAP}{up_to(3)}{drop}"


def _grown(words: Words, orders: str) -> str:
    drop, before, orders = f"(?:{words.drop})", f"(?:{words.before})", f"(?:{orders})"
    orders_in_turn = ((drop, before, orders), (before, orders, drop), (drop, orders, before))
    return "|".join(_NEAR.join(parts) for parts in orders_in_turn)


def _rules() -> tuple[Rule, ...]:
    forms = ((_with_blanks, WITH_BLANKS), (_verb_last, VERB_LAST), (_grown, WITHOUT_BLANKS))
    dropping = [(language, words, form) for form, languages in forms for language, words in languages.items()]
    return (
        *(
            Rule(f"drop-previous-orders-{language}", "override", STRONG, form(words, words.orders))
            for language, words, form in dropping
        ),
        *(
            Rule(f"drop-previous-rules-{language}", "override", MEDIUM, form(words, words.loose))
            for language, words, form in dropping
        ),
        Rule("drop-all-that-was-said", "override", STRONG, f"{_START}{_stems(_ALL_THAT_WAS_SAID)}"),
        Rule("drop-all-that-was-said-grown", "override", STRONG, _ALL_THAT_WAS_SAID_GROWN),
        Rule("now-you-are", "persona", STRONG, rf"{_START}{_stems(_NOW_YOU_ARE)}{_END}"),
        Rule("now-you-are-grown", "persona", STRONG, _NOW_YOU_ARE_GROWN),
        Rule(
            "reveal-prompt-abroad",
            "prompt_leak",
            STRONG,
            f"{_START}{_stems(_PROMPT_LEAK)}{GAP}{up_to(5)}{_stems(_PROMPTS)}",
        ),
    )


RULES = _rules()

_OTHER_LETTERS = ("russian", "ukrainian", "hindi", *WITHOUT_BLANKS)
NEVER_IN_ASCII = frozenset(
    (
        "drop-all-that-was-said-grown",
        *(f"drop-previous-{what}-{language}" for what in ("orders", "rules") for language in _OTHER_LETTERS),
    )
)
"""Rules that match no text of ASCII letters alone."""
