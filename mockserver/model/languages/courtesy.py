"""What is said and answered in other languages where nothing is asked: thanks, how one is, goodbyes. Mere tables.

Each pattern is one of a whole text, without the signs around it, in lower case.
"""

# By language: thanks and what is answered, `how are you` and what is answered, goodbye and what is answered.
COURTESIES: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (
        (r"(?:vielen |herzlichen |lieben )?dank(?:e)?(?: schön| sehr| dir| ihnen| vielmals)?", "Gern geschehen!"),
        (r"wie geht(?:'s| es)(?: dir| ihnen| euch)?(?: heute)?", "Mir geht es gut, danke. Wobei kann ich helfen?"),
        (r"tschüss|auf wiedersehen|bis (?:bald|später|dann)|gute nacht", "Auf Wiedersehen!"),
    ),
    "fr": (
        (r"merci(?: beaucoup| bien| à toi| à vous)?", "Je vous en prie !"),
        (
            r"(?:comment )?ça va(?: bien)?|comment (?:vas-tu|allez-vous|tu vas)",
            "Je vais bien, merci. Comment puis-je vous aider ?",
        ),
        (r"au revoir|à bientôt|à plus(?: tard)?|bonne nuit|bonne journée", "Au revoir !"),
    ),
    "es": (
        (r"(?:muchas |mil )?gracias(?: por todo)?", "¡De nada!"),
        (
            r"(?:cómo|como|qué|que) (?:estás|está|estas|te va|tal)(?: usted)?",
            "Muy bien, gracias. ¿En qué puedo ayudarte?",
        ),
        (r"adiós|adios|hasta (?:luego|pronto|mañana)|buenas noches", "¡Hasta luego!"),
    ),
    "it": (
        (r"grazie(?: mille| tante)?|ti ringrazio", "Prego!"),
        (r"come (?:stai|sta|va|state)", "Sto bene, grazie. Come posso aiutarti?"),
        (r"arrivederci|a presto|a dopo|buonanotte|buona notte", "Arrivederci!"),
    ),
    "pt": (
        (r"(?:muito )?obrigad[oa](?: mesmo)?|valeu", "De nada!"),
        (r"(?:como (?:vai|está|estás)(?: você)?|tudo (?:bem|bom))", "Tudo bem, obrigado. Como posso ajudar?"),
        (r"tchau|adeus|até (?:logo|amanhã|breve)|boa noite", "Até logo!"),
    ),
    "nl": (
        (r"(?:hartelijk )?(?:dank(?: je| u)?(?: wel)?|bedankt)", "Graag gedaan!"),
        (r"hoe gaat het(?: met (?:je|jou|u))?|hoe is het", "Met mij gaat het goed, dank je. Waarmee kan ik helpen?"),
        (r"tot ziens|doei|dag|tot later", "Tot ziens!"),
    ),
    "sv": (
        (r"tack(?: så mycket)?", "Varsågod!"),
        (r"hur mår du|hur är det|läget", "Jag mår bra, tack. Vad kan jag hjälpa till med?"),
        (r"hej då|adjö|vi ses", "Hej då!"),
    ),
    "pl": (
        (r"dzięk(?:uję|i)(?: bardzo)?", "Proszę bardzo!"),
        (r"jak się masz|co słychać|jak leci", "Dziękuję, dobrze. W czym mogę pomóc?"),
        (r"do widzenia|pa|dobranoc", "Do widzenia!"),
    ),
    "ru": (
        (r"(?:большое )?спасибо(?: большое)?|благодарю", "Пожалуйста!"),
        (r"как (?:дела|ты|вы|поживаешь|поживаете)", "Спасибо, всё хорошо. Чем могу помочь?"),
        (r"пока|до свидания|до встречи|спокойной ночи", "До свидания!"),
    ),
    "uk": (
        (r"дякую|спасибі", "Будь ласка!"),
        (r"як (?:справи|ся маєш)", "Дякую, усе добре. Чим можу допомогти?"),
        (r"до побачення|бувай", "До побачення!"),
    ),
    "ja": (
        (r"(?:どうも)?ありがとう(?:ございます|ございました)?", "どういたしまして。"),
        (r"(?:お)?元気(?:ですか)?|調子はどう(?:ですか)?", "元気です。ありがとうございます。ご用件は何でしょうか。"),
        (r"さようなら|またね|おやすみ(?:なさい)?", "さようなら。"),
    ),
    "zh": (
        (r"(?:非常|多)?(?:谢谢|感谢)(?:你|您|了)?", "不客气！"),
        (r"你(?:还)?好吗|最近怎么样|你怎么样", "我很好，谢谢。有什么可以帮您？"),
        (r"再见|拜拜|晚安", "再见！"),
    ),
    "ko": (
        (r"(?:정말 )?(?:감사합니다|고마워(?:요)?|고맙습니다)", "천만에요!"),
        (r"(?:어떻게 지내(?:요|세요|니)?|잘 지내(?:요|세요|니)?)", "잘 지내요, 감사합니다. 무엇을 도와드릴까요?"),
        (r"안녕히 (?:계세요|가세요)|잘 가(?:요)?", "안녕히 계세요!"),
    ),
}
