"""Languages of the west of Europe other than English. Mere tables."""

from mockserver.model.languages.language import Language

WESTERN: dict[str, Language] = {
    "de": Language(
        "german deutsch",
        "der die das und ist ein eine einen einem einer nicht mit für auf von zu zum zur den dem des im am bei "
        "wie was "
        "wer wo wann warum welche welcher welches ich du er wir ihr mir mich dir uns kann kannst bitte sind wird "
        "werden "
        "über sich auch es oder aber aus nach gibt gib schreibe schreib erkläre erklär erzähle erzähl nenne nenn "
        "liste servus moin beschreibe hallo guten "
        "danke etwas kurz heute tag mein meine dein deine sie hat haben soll macht man",
        "Hallo! Wobei kann ich helfen?",
        (
            "Bei „{topic}“ kommt es vor allem auf {a} und {b} an.",
            "Zu „{topic}“ lässt sich einiges sagen: Zuerst zählt {a}, dann {b}.",
            "Wer nach „{topic}“ fragt, sollte mit {a} beginnen.",
        ),
        (
            "Oft hilft es, {a} und {b} zu vergleichen.",
            "In der Praxis ist {a} wichtiger, als man denkt.",
            "Ohne {a} geht es selten, ohne {b} fast nie.",
            "Kleine Unterschiede summieren sich mit der Zeit.",
            "Eine einfache Regel genügt meist: erst {a}, dann {b}.",
            "Danach wird vieles leichter.",
        ),
        ("Zeit", "Geduld", "Übung", "Planung", "Qualität", "Ruhe", "Erfahrung", "Ordnung", "Vertrauen", "Aufwand"),
    ),
    "fr": Language(
        "french français francais",
        "le la les des du une un est et que qui quoi dans pour pas sur avec ce cette ces je tu il elle nous vous ils "
        "sont mon ma mes ton ta votre vos comment pourquoi où quand quel quelle quels quelles combien au aux en "
        "de à se "
        "sa son peux peut pouvez bonjour salut merci moi s'il écris écrivez explique expliquez donne donnez raconte "
        "parle décris faire fait plus ça c'est qu'est-ce d'un d'une l' y a ai être",
        "Bonjour ! Comment puis-je vous aider ?",
        (
            "Pour « {topic} », tout dépend surtout de deux choses : {a} et {b}.",
            "Au sujet de « {topic} », il faut d'abord considérer ceci : {a}, puis {b}.",
            "La question « {topic} » a une réponse simple : {a} avant tout.",
        ),
        (
            "Il est souvent utile de comparer deux points : {a} et {b}.",
            "En pratique, les petites différences comptent beaucoup.",
            "Une règle simple suffit le plus souvent : d'abord {a}, ensuite {b}.",
            "Il n'y a presque jamais une seule bonne réponse.",
            "Avec un peu de patience, le reste devient plus facile.",
            "Le plus important reste ceci : {a}.",
        ),
        ("le temps", "le prix", "la qualité", "la patience", "le calme", "l'expérience", "la méthode", "la confiance",
         "le contexte", "l'effort"),
    ),
    "es": Language(
        "spanish español espanol castellano",
        "el la los las un una unos es y que de del en por para con no se su sus al lo como cómo qué quién cuándo "
        "dónde "
        "cuál cuáles cuánto cuántos cuántas porque este esta esto yo tú usted me te mi tu son está están más muy hay "
        "puedes puede hola buenos buenas gracias escribe explica dime cuéntame describe dame haz sobre ser hacer hoy "
        "nos son fue tiene",
        "¡Hola! ¿En qué puedo ayudarte?",
        (
            "En cuanto a «{topic}», lo que más cuenta es {a} y también {b}.",
            "Sobre «{topic}» conviene empezar por {a} y seguir con {b}.",
            "La respuesta a «{topic}» depende sobre todo de dos cosas: {a} y {b}.",
        ),
        (
            "Suele ayudar comparar {a} con {b}.",
            "En la práctica, las pequeñas diferencias se notan con el tiempo.",
            "Una regla sencilla casi siempre basta: primero {a}, después {b}.",
            "Rara vez hay una sola respuesta correcta.",
            "Con un poco de calma, lo demás resulta más fácil.",
            "Lo más importante sigue siendo {a}.",
        ),
        ("el tiempo", "la paciencia", "la calidad", "el precio", "la práctica", "la experiencia", "el orden",
         "la confianza", "el contexto", "el esfuerzo"),
    ),
    "it": Language(
        "italian italiano",
        "il lo la i gli le un una uno è e che di del della dei delle in per con non si su al alla da dal come "
        "cosa chi "
        "quando dove quale quali quanto perché questo questa io tu lui lei noi mi ti sono sei più anche ciao "
        "buongiorno "
        "grazie scrivi spiega spiegami dimmi parlami descrivi dammi puoi può fare ha ho nel nella sul sulla "
        "cos'è qual "
        "ma oggi",
        "Ciao! Come posso aiutarti?",
        (
            "Quanto a «{topic}», contano soprattutto due cose: {a} e {b}.",
            "Per «{topic}» conviene cominciare da una cosa sola: {a}.",
            "La risposta a «{topic}» è semplice: prima {a}, poi {b}.",
        ),
        (
            "Spesso aiuta confrontare {a} e {b}.",
            "In pratica, le piccole differenze si sentono con il tempo.",
            "Di solito basta una regola semplice: prima {a}, poi {b}.",
            "Raramente c'è una sola risposta giusta.",
            "Con un po' di calma, il resto diventa più facile.",
            "La cosa più importante resta {a}.",
        ),
        ("il tempo", "la pazienza", "la qualità", "il prezzo", "la pratica", "l'esperienza", "l'ordine", "la fiducia",
         "il contesto", "l'impegno"),
    ),
    "pt": Language(
        "portuguese português portugues",
        "o a os as um uma é e que de do da dos das em no na nos nas por para com não se seu sua ao à como quê quem "
        "quando onde qual quais quanto quantos porque por este esta isto eu você tu me meu minha são está estão mais "
        "muito há pode olá oi bom obrigado obrigada escreva explique diga fale descreva dê faça sobre ser fazer "
        "foi tem "
        "hoje também",
        "Olá! Como posso ajudar?",
        (
            "Quanto a «{topic}», o que mais conta é {a} e também {b}.",
            "Sobre «{topic}», convém começar por {a} e continuar com {b}.",
            "A resposta para «{topic}» depende sobretudo de duas coisas: {a} e {b}.",
        ),
        (
            "Costuma ajudar comparar {a} com {b}.",
            "Na prática, as pequenas diferenças fazem-se notar com o tempo.",
            "Uma regra simples quase sempre basta: primeiro {a}, depois {b}.",
            "Raramente há uma única resposta certa.",
            "Com um pouco de calma, o resto fica mais fácil.",
            "O mais importante continua a ser {a}.",
        ),
        ("o tempo", "a paciência", "a qualidade", "o preço", "a prática", "a experiência", "a ordem", "a confiança",
         "o contexto", "o esforço"),
    ),
    "nl": Language(
        "dutch nederlands",
        "de het een en van is dat die in te niet op met voor zijn aan er ook als maar om bij uit naar wat wie waar "
        "wanneer waarom hoe welke ik jij je hij zij wij we mij me u kan kun kunt zou graag alstublieft hallo hoi "
        "goedemorgen "
        "bedankt dank schrijf leg vertel noem beschrijf geef over deze dit wordt worden heeft hebben veel meer "
        "mijn uw "
        "jouw vandaag",
        "Hallo! Waarmee kan ik helpen?",
        (
            "Bij ‘{topic}’ gaat het vooral om {a} en {b}.",
            "Over ‘{topic}’ valt veel te zeggen: eerst {a}, dan {b}.",
            "Wie naar ‘{topic}’ vraagt, begint het best met {a}.",
        ),
        (
            "Vaak helpt het om {a} en {b} te vergelijken.",
            "In de praktijk is {a} belangrijker dan men denkt.",
            "Kleine verschillen tellen op den duur mee.",
            "Een eenvoudige regel is meestal genoeg: eerst {a}, dan {b}.",
            "Er is zelden maar één goed antwoord.",
            "Daarna wordt veel gemakkelijker.",
        ),
        ("tijd", "geduld", "oefening", "planning", "kwaliteit", "rust", "ervaring", "orde", "vertrouwen", "inzet"),
    ),
    "da": Language(
        "danish dansk",
        "og i at det en et er som på til af for med ikke der den de vi jeg du han hun hvad hvem hvor hvornår hvorfor "
        "hvordan hvilken hvilke kan skal vil har fra om mig dig sig min din hej goddag tak skriv forklar fortæl "
        "beskriv "
        "nævn giv venligst også eller men meget blev noget mere idag mellem",
        "Hej! Hvad kan jeg hjælpe med?",
        (
            "Når det gælder »{topic}«, handler det mest om {a} og {b}.",
            "Om »{topic}« kan man sige meget: først {a}, så {b}.",
            "Svaret på »{topic}« er enkelt: {a} først.",
        ),
        (
            "Det hjælper ofte at sammenligne {a} og {b}.",
            "I praksis betyder {a} mere, end man tror.",
            "Små forskelle bliver store med tiden.",
            "En enkel regel er som regel nok: først {a}, så {b}.",
            "Der findes sjældent kun ét rigtigt svar.",
            "Derefter bliver meget lettere.",
        ),
        ("tid", "tålmodighed", "øvelse", "planlægning", "kvalitet", "ro", "erfaring", "orden", "tillid", "pris"),
    ),
    "sv": Language(
        "swedish svenska",
        "och i att det en ett är som på till av för med inte den de vi jag du han hon vad vem var när varför hur "
        "vilken "
        "vilka kan ska vill har från om mig dig sig min din hej god tack skriv förklara berätta beskriv nämn ge "
        "snälla "
        "också eller men mycket blev något mer idag mellan finns",
        "Hej! Vad kan jag hjälpa till med?",
        (
            "När det gäller ”{topic}” handlar det mest om {a} och {b}.",
            "Om ”{topic}” finns mycket att säga: först {a}, sedan {b}.",
            "Svaret på ”{topic}” är enkelt: {a} först.",
        ),
        (
            "Det hjälper ofta att jämföra {a} och {b}.",
            "I praktiken betyder {a} mer än man tror.",
            "Små skillnader blir stora med tiden.",
            "En enkel regel räcker oftast: först {a}, sedan {b}.",
            "Det finns sällan bara ett rätt svar.",
            "Därefter blir mycket lättare.",
        ),
        ("tid", "tålamod", "övning", "planering", "kvalitet", "lugn", "erfarenhet", "ordning", "tillit", "pris"),
    ),
}  # fmt: skip
