"""Languages of the east of Europe and of its neighbours. Mere tables."""

from mockserver.model.languages.language import Language

EASTERN: dict[str, Language] = {
    "pl": Language(
        "polish polski polsku",
        "i w na z do nie się to jest że o jak co kto gdzie kiedy dlaczego który która które czy dla po od za "
        "przez ale "
        "oraz są być ja ty on ona my wy mi mnie ci proszę cześć dzień dobry dziękuję napisz wyjaśnij opisz opowiedz "
        "podaj wymień możesz jaki jaka jakie ile mój moja ten ta tego tym bardzo dzisiaj",
        "Cześć! W czym mogę pomóc?",
        (
            "Jeśli chodzi o „{topic}”, najważniejsze są dwie rzeczy: {a} i {b}.",
            "W sprawie „{topic}” najpierw liczy się {a}, a potem {b}.",
            "Odpowiedź na „{topic}” jest prosta: przede wszystkim {a}.",
        ),
        (
            "Zwykle wystarcza prosta zasada: najpierw {a}, potem {b}.",
            "W praktyce liczy się przede wszystkim {a}.",
            "Małe różnice z czasem stają się duże.",
            "Rzadko istnieje tylko jedna dobra odpowiedź.",
            "Warto pamiętać o dwóch rzeczach: {a} i {b}.",
            "Potem wszystko staje się łatwiejsze.",
        ),
        ("czas", "cierpliwość", "praktyka", "plan", "jakość", "spokój", "doświadczenie", "porządek", "zaufanie",
         "cena"),
    ),
    "cs": Language(
        "czech čeština česky",
        "a v na se je to že z do s k o jak co kdo kde kdy proč který která které jsou být pro po od za ale nebo jsem "
        "jsi já ty on ona my vy mi mě prosím ahoj dobrý den děkuji napiš vysvětli popiš řekni uveď můžeš jaký "
        "jaká jaké "
        "kolik můj moje ten ta tento tato velmi dnes si by není",
        "Dobrý den! S čím mohu pomoci?",
        (
            "Pokud jde o „{topic}“, nejdůležitější jsou dvě věci: {a} a {b}.",
            "K tématu „{topic}“: nejprve rozhoduje {a}, potom {b}.",
            "Odpověď na „{topic}“ je jednoduchá: především {a}.",
        ),
        (
            "Obvykle stačí jednoduché pravidlo: nejprve {a}, potom {b}.",
            "V praxi rozhoduje především {a}.",
            "Malé rozdíly se časem sčítají.",
            "Málokdy existuje jen jedna správná odpověď.",
            "Vyplatí se myslet na dvě věci: {a} a {b}.",
            "Potom už je všechno snazší.",
        ),
        ("čas", "trpělivost", "praxe", "plán", "kvalita", "klid", "zkušenost", "pořádek", "důvěra", "cena"),
    ),
    "tr": Language(
        "turkish türkçe turkce",
        "ve bir bu da de için ile ne nasıl neden niçin kim nerede zaman hangi mi mı mu mü var yok çok daha en "
        "gibi ama "
        "veya ben sen biz siz bana sana lütfen merhaba selam günaydın teşekkürler yaz açıkla anlat söyle ver listele "
        "hakkında olan olarak kadar kaç nedir midir şu benim senin bugün",
        "Merhaba! Nasıl yardımcı olabilirim?",
        (
            "“{topic}” konusunda en çok iki şey önemlidir: {a} ve {b}.",
            "“{topic}” sorusunun kısa yanıtı şudur: önce {a}, sonra {b}.",
            "“{topic}” için başlangıç noktası bellidir: {a}.",
        ),
        (
            "Çoğu zaman basit bir kural yeter: önce {a}, sonra {b}.",
            "Uygulamada küçük farklar zamanla büyür.",
            "Nadiren tek bir doğru yanıt vardır.",
            "İki şeyi akılda tutmakta yarar var: {a} ve {b}.",
            "Bundan sonra gerisi kolaylaşır.",
            "En önemlisi yine de şudur: {a}.",
        ),
        ("zaman", "sabır", "deneyim", "plan", "kalite", "düzen", "güven", "fiyat", "emek", "alışkanlık"),
    ),
    "ru": Language(
        "russian русский русском",
        "и в на не что с по это как а но за из у о к до для от мы вы он она они я ты мне меня тебе вам кто где когда "
        "почему зачем какой какая какие сколько чем ли бы же или есть был быть так все его её мой моя пожалуйста "
        "привет "
        "здравствуйте спасибо напиши напишите объясни объясните расскажи расскажите опиши назови дай скажи такое "
        "об про",
        "Здравствуйте! Чем могу помочь?",
        (
            "Если говорить о теме «{topic}», важнее всего две вещи: {a} и {b}.",
            "Что касается вопроса «{topic}», сначала важно одно: {a}.",
            "Ответ на «{topic}» прост: сначала {a}, потом {b}.",
        ),
        (
            "Обычно хватает простого правила: сначала {a}, потом {b}.",
            "На практике небольшие различия со временем становятся заметны.",
            "Редко бывает только один верный ответ.",
            "Полезно помнить о двух вещах: {a} и {b}.",
            "Дальше всё становится проще.",
            "Главное всё же остаётся прежним: {a}.",
        ),
        ("время", "терпение", "опыт", "план", "качество", "порядок", "доверие", "цена", "внимание", "привычка"),
    ),
    "uk": Language(
        "ukrainian українська українською",
        "і й в у на не що з по це як а але за із о до для від ми ви він вона вони я ти мені мене тобі вам хто де "
        "коли "
        "чому який яка які скільки чим чи би або є був бути так все його її мій моя будь ласка привіт вітаю дякую "
        "напиши поясни розкажи опиши назви дай скажи таке про",
        "Вітаю! Чим можу допомогти?",
        (
            "Щодо теми «{topic}», найважливіші дві речі: {a} і {b}.",
            "У питанні «{topic}» спершу важливе одне: {a}.",
            "Відповідь на «{topic}» проста: спочатку {a}, потім {b}.",
        ),
        (
            "Зазвичай вистачає простого правила: спочатку {a}, потім {b}.",
            "На практиці невеликі відмінності з часом стають помітними.",
            "Рідко буває лише одна правильна відповідь.",
            "Варто пам'ятати про дві речі: {a} і {b}.",
            "Далі все стає простішим.",
            "Головне все ж лишається тим самим: {a}.",
        ),
        ("час", "терпіння", "досвід", "план", "якість", "порядок", "довіра", "ціна", "увага", "звичка"),
    ),
    "el": Language(
        "greek ελληνικά",
        "και το η ο τα οι του της των την τον να είναι σε για με που από στο στη στην πώς τι ποιος ποια ποιο πού "
        "πότε "
        "γιατί δεν ένα μια εγώ εσύ μου σου παρακαλώ γεια καλημέρα ευχαριστώ γράψε εξήγησε περιέγραψε πες δώσε",
        "Γεια σας! Πώς μπορώ να βοηθήσω;",
        (
            "Για το θέμα «{topic}» δύο πράγματα μετρούν περισσότερο: {a} και {b}.",
            "Η απάντηση στο «{topic}» είναι απλή: πρώτα {a}, μετά {b}.",
        ),
        (
            "Συνήθως αρκεί ένας απλός κανόνας: πρώτα {a}, μετά {b}.",
            "Στην πράξη οι μικρές διαφορές μεγαλώνουν με τον καιρό.",
            "Σπάνια υπάρχει μόνο μία σωστή απάντηση.",
            "Αξίζει να θυμάται κανείς δύο πράγματα: {a} και {b}.",
            "Μετά όλα γίνονται ευκολότερα.",
        ),
        ("χρόνος", "υπομονή", "εμπειρία", "σχέδιο", "ποιότητα", "τάξη", "εμπιστοσύνη", "τιμή"),
    ),
    "az": Language(
        "azerbaijani azərbaycan",
            "və bir bu üçün ilə nə necə niyə kim harada mən sən haqqında edin nədir salam "
            "zəhmət",
        "Salam!", locale="az_AZ",
    ),
    "mk": Language(
        "macedonian македонски", "и во на не што со по ова како за од јас ти тој кој каде зошто здраво ве молам кажи",
        "Здраво!", locale="mk_MK",
    ),
    "hy": Language("armenian հայերեն",
        "և է որ ինչ ինչպես ով որտեղ երբ ինչու մի խնդրում եմ "
        "բարև", "Բարև։", locale="hy_AM"),
}  # fmt: skip
