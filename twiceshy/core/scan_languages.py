"""The rules on dropping earlier orders, on taking a role and on giving prompts away, in languages other than English.

All is written as `letters.folded` leaves it: lower case and without accents (ß as ss, the Polish l without its stroke,
the Russian short i as и). A hyphen ends a stem and stands for any ending.
"""

from dataclasses import dataclass

from twiceshy.core.scan_patterns import GAP, LETTER, STRONG, Rule, up_to

_START = r"(?:^|[ \n:.])"
_END = r"(?:[ \n:.]|$)"
_NEAR = r"[^.]{0,12}"


@dataclass(frozen=True, slots=True)
class Words:
    """How a language says to drop what was said before: verbs of dropping, "previous", and nouns for orders."""

    drop: str
    before: str
    orders: str


WITH_BLANKS = {
    "german": Words(
        "ignorier-|vergiss|vergessen|vergesst|missacht-|uberschreib-|verwirf|verwerf-|uberspring-|umgeh-|beachte-"
        "|befolg-",
        "vorherig-|vorig-|bisherig-|obig-|fruher-|vorangegang-|vorangehend-|vorstehend-|vorausgehend-|davor|zuvor|oben"
        "|ursprunglich-",
        "anweisung-|instruktion-|befehl-|regel-|vorgabe-|richtlinie-|prompt-|aufforderung-|anordnung-|system ?prompt-"
        "|systemanweisung-",
    ),
    "french": Words(
        "ignor(e|es|ez|er|ons)|oubli(e|es|ez|er)|neglige-|outrepasse-|contourne-|desobei-|tenez|tiens|faites "
        "abstraction"
        "|fais abstraction",
        "precedent-|anterieur-|prealable-|ci dessus|dessus|initia(l|le|les|ux)|avant|recue?s",
        "instructions?|consigne-|directive-|regle-|ordres?|prompts?|commande-|indication-|contrainte-",
    ),
    "spanish": Words(
        "ignor(a|e|ad|en|ar|es)|olvid-|omit(e|a|ir|an)|descart(a|e|ar)|desatiend-|desobedec-|desestim-|no hagas caso"
        "|pasa por alto",
        "anterior-|previ(a|as|o|os)|precedent-|de arriba|arriba|iniciale?s?|recibid-|dad(a|as|o|os)",
        "instruccion-|indicacion-|orden|ordenes|reglas?|directri-|directivas?|prompts?|comandos?|normas?",
    ),
    "portuguese": Words(
        "ignor(a|e|em|ar)|esquec-|descart(a|e|ar|em)|desconsider-|desobedec-|omit(a|ir|am)",
        "anterior-|previ(a|as|o|os)|precedent-|acima|iniciai?s?|recebid-|dad(a|as|o|os)",
        "instruc-|ordens|ordem|regras?|diretri-|diretivas?|prompts?|comandos?|orientac-",
    ),
    "italian": Words(
        "ignor(a|i|ate|are|iamo)|dimentic-|trascur-|scart(a|i|ate|are)|disattend-|tralasci-|non seguire|non "
        "considerare",
        "precedent(e|i)|antecedent(e|i)|anteriori|sopra|di prima|inizial(e|i)|ricevut-",
        "istruzion-|direttiv-|regol-|ordin(e|i)|prompt|comand(o|i)|indicazion-|vincol-",
    ),
    "dutch": Words(
        "negeer-|vergeet|vergeten|ignoreer-|veronachtza-|omzeil-|overschrijf",
        "vorige|eerdere?|voorgaand-|bovenstaand-|voorafgaand-|hierboven|oorspronkelijk-",
        "instructie-|opdracht-|aanwijzing-|regels?|richtlijn-|prompts?|bevel-|systeemprompt",
    ),
    "polish": Words(
        "zignoruj-|ignoruj-|zapomnij-|pomin(aj)?-|odrzuc-|lekcewaz-",
        "poprzedni-|wczesniej-|powyzsz-|dotychczasow-|uprzedni-|pierwotn-",
        "instrukcj-|polece-|wytyczn-|regul-|zasad-|rozkaz-|prompt-|komend-|ograniczen-",
    ),
    "russian": Words(
        "игнорир-|проигнорир-|забуд-|забыт-|отбрось-|пренебре-|не (обращ|следу|выполня|соблюда)-",
        "предыдущ-|прежн-|предшеств-|вышеуказан-|вышеизложен-|ранее|прошл-|выше|исходн-|первоначальн-|данн-",
        "инструкц-|указан-|команд-|правил-|распоряжен-|промпт-|директив-|ограничен-|приказ-|предписан-",
    ),
    "ukrainian": Words(
        "ігнору-|проігнору-|забуд-|відкин-|нехту-|не (зважа|виконув|дотриму)-",
        "попередн-|наведен-|вище|раніш-|колишн-|надан-|початков-",
        "інструкц-|вказівк-|команд-|правил-|розпоряджен-|промпт-|директив-|обмежен-|наказ-",
    ),
    "czech": Words(
        "ignoruj-|zapomen-|pomin-|nedbej-|nerespektuj-",
        "predchoz-|predesl-|drivejs-|vyse|puvodn-|dosavadn-",
        "instrukc-|pokyn-|prikaz-|pravid-|prompt-|smernic-|omezen-",
    ),
    "swedish": Words(
        "ignorera-?|glom|bortse|asidosatt|strunta",
        "tidigare|foregaende|ovanstaende|ursprunglig-|ovan|innan",
        "instruktion-|anvisning-|regler|regel-|riktlinj-|prompt-|order|kommando-|direktiv-",
    ),
    "romanian": Words(
        "ignora(ti)?|uita(ti)?|nu respecta(ti)?|nu urma(ti)?",
        "anterioa?r-|precedent-|de mai sus|sus|initial-",
        "instructiun-|regul-|comenz-|ordin-|prompt-|directiv-|indicatii-",
    ),
    "indonesian": Words(
        "abaikan|lupakan|hiraukan|kesampingkan",
        "sebelum(nya)?|terdahulu|di atas|atas|awal|semula",
        "instruksi-|perintah-|petunjuk-|aturan-|prompt-|arahan-|pedoman-",
    ),
    "vietnamese": Words(
        "bo qua|quen|phot lo",
        "truoc( do)?|o tren|phia tren|tren|ban dau",
        "huong dan|chi dan|chi thi|menh lenh|lenh|quy tac|prompt|yeu cau",
    ),
}
VERB_LAST = {
    "turkish": Words(
        "yok say-|gormezden gel-|unut-|dikkate alma-|goz ardi et-|yoksay-|uyma(yin)?",
        "onceki|yukaridaki|daha onceki?|ilk|mevcut|verilen|bundan onceki|simdiye kadarki",
        "talimat-|yonerge-|komut-|kural-|emir-|emri-|prompt-|istem-|direktif-",
    ),
    "hungarian": Words(
        "hagyd figyelmen kivul|hagyja figyelmen kivul|felejtsd el|felejtse el|mellozd",
        "korabbi|elozo|fenti|eddigi|eredeti",
        "utasitas-|szabaly-|parancs-|prompt-|iranyelv-|instrukcio-",
    ),
    "hindi": Words(
        "अनदेखा|नज़रअंदाज़|नजरअंदाज|उपेक्षा|भूल|इग्नोर",
        "पिछले|पिछली|पिछला|पूर्व|पहले|उपरोक्त|ऊपर|सभी",
        "निर्देश-|आदेश-|नियम-|हिदायत-|प्रॉम्प्ट-|अनुदेश-",
    ),
}
WITHOUT_BLANKS = {
    "chinese": Words(
        "忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|不要遵守|不用管|不必遵守|别管|抛弃|丢弃|放弃|跳过|绕过|覆盖|取消",
        "之前|以前|以上|先前|前面|上述|上面|此前|前述|原来|原先|原有|原本|最初|所有|全部|一切|系统",
        "指令|指示|提示|命令|规则|規則|说明|說明|要求|设定|設定|约束|限制|对话|指引|准则|prompt",
    ),
    "japanese": Words(
        "無視|忘れ|従わな|従うな|破棄|取り消|無効に|スキップ|捨て",
        "以前|これまで|上記|前の|今まで|先ほど|さっき|すべて|全て|最初|元の|既存|以上|あらゆる|今までの|直前",
        "指示|命令|プロンプト|ルール|制約|設定|規則|指令|インストラクション|会話|ガイドライン",
    ),
    "korean": Words(
        "무시|잊어|잊으|따르지|폐기|취소",
        "이전|위의|앞의|앞선|지금까지|모든|기존|위에|먼저|처음|원래",
        "지시|명령|지침|프롬프트|규칙|설정|안내|제한|가이드라인",
    ),
    "arabic": Words(
        "تجاهل|انس|تجاوز|اهمل|لا تتبع",
        "السابق|سابق|اعلاه|قبل|الاصلي|جميع|كل",
        "التعليمات|تعليمات|الاوامر|اوامر|القواعد|التوجيهات|توجيهات|الارشادات",
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
    return f"(?:{words.replace(' ', GAP)})"


def _with_blanks(words: Words) -> str:
    drop, before, orders = _stems(words.drop), _stems(words.before), _stems(words.orders)
    first = f"{before}{GAP}{up_to(2)}{orders}"
    last = f"{orders}{GAP}{up_to(3)}{before}"
    return rf"{_START}{drop}{GAP}{up_to(5)}(?:{first}|{last}){_END}"


def _verb_last(words: Words) -> str:
    drop, before, orders = _stems(words.drop), _stems(words.before), _stems(words.orders)
    return rf"{_START}{before}{GAP}{up_to(3)}{orders}{GAP}{up_to(3)}{drop}"


def _grown(words: Words) -> str:
    drop, before, orders = f"(?:{words.drop})", f"(?:{words.before})", f"(?:{words.orders})"
    orders_in_turn = ((drop, before, orders), (before, orders, drop), (drop, orders, before))
    return "|".join(_NEAR.join(parts) for parts in orders_in_turn)


def _rules() -> tuple[Rule, ...]:
    dropping = {language: _with_blanks(words) for language, words in WITH_BLANKS.items()}
    dropping |= {language: _verb_last(words) for language, words in VERB_LAST.items()}
    dropping |= {language: _grown(words) for language, words in WITHOUT_BLANKS.items()}
    return (
        *(Rule(f"drop-previous-orders-{language}", "override", STRONG, said) for language, said in dropping.items()),
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
