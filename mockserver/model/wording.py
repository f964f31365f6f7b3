"""Words as they tell tools apart: reduced to stems, joined with their synonyms, weighed by how much they say.

Knows English endings and the words of interfaces, no tools and no calls. Scripts without blanks are cut into pairs of
characters.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from unicodedata import combining, normalize


def mended(said: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The words, those with one slip as the known words that they are meant for: `wether` as `weather`."""
    by_initial: dict[str, list[str]] = {}
    for word in sorted(known):
        if len(word) >= _SHORTEST:
            by_initial.setdefault(word[0], []).append(word)
    return tuple(_meant(word, by_initial.get(word[0], ())) if word not in known else word for word in said)


def _meant(word: str, alike: Sequence[str]) -> str:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    return next((other for other in alike if _is_slip(word, other)), word)


def _is_slip(word: str, meant: str) -> bool:
    """Whether a word is another with one letter more, less or changed, or two exchanged. An ending is no slip."""
    if abs(len(word) - len(meant)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(word, meant, strict=False)) if one != other), -1)
    if at < 0:
        return False
    if len(word) > len(meant):
        return word[at + 1 :] == meant[at:]
    if len(word) < len(meant):
        return word[at:] == meant[at + 1 :]
    exchanged = word[at : at + 2] == meant[at : at + 2][::-1] and word[at + 2 :] == meant[at + 2 :]
    return exchanged or (len(word) > _SHORTEST and word[at + 1 :] == meant[at + 1 :] and at < len(word) - 1)


_SHORTEST, _LONGEST = 5, 24  # letters


# Words that mean the same where tools are asked for; the first names the group.
SYNONYMS = (
    "get fetch retrieve obtain show display view see tell give check read",
    "search find lookup look query browse seek google",
    "create make generate build register insert add open new schedule arrange plan draw paint sketch",
    "delete remove erase drop",
    "update change modify edit set",
    "email mail inbox",
    "message text sms notify notification ping",
    "send post notify forward share transfer",
    "transfer move",
    "currency dollar euro pound yen usd eur gbp jpy chf cny inr cad aud",
    "book reserve reservation",
    "buy purchase order",
    "pay payment",
    "schedule arrange appointment meeting event calendar",
    "calculate compute evaluate solve calculator math maths arithmetic equation expression + * × ÷",
    "sum add plus + total",
    "subtract minus difference",
    "multiply product * ×",
    "divide quotient ÷",
    "weather forecast temperature rain sunny umbrella snow cold hot warm humid windy degrees",
    "price cost quote worth",
    "stock share ticker",
    "time clock",
    "restaurant table dinner",
    "flight fly airline plane",
    "hotel room accommodation",
    "bill invoice charge",
    "refund reimburse",
    "package parcel shipment delivery ship",
    "crypto cryptocurrency coin bitcoin ethereum btc eth solana",
    "deploy deployment release ship rollout",
    "free busy availability available",
    "remaining left balance",
    "symptom headache fever cough pain sick",
    "leave vacation holiday pto",
    "movie film",
    "song music track",
    "image photo picture draw drawing illustration paint",
    "document documentation doc file pdf",
    "website page url site webpage",
    "news headline",
    "remind reminder",
    "ticket issue bug",
    "customer client",
    "employee staff",
    "convert exchange conversion",
    "money funds cash dollar euro pound",
    "account savings checking",
    "recipe cook dish meal ingredient",
    "write save store",
    "summarize summary",
    "python code script program",
    "shell terminal bash command",
    "location place city where",
    "car vehicle",
    "directions route navigate drive",
    "distance far",
    "person people contact",
    "doctor physician",
    "thermostat heating",
    "lamp light",
    "task todo",
)


def foreign() -> Iterator[tuple[str, str]]:
    """Each foreign word and its English one; a word may stand for several."""
    for english, listed in _WORDS.items():
        for word in listed.split():
            yield word, english


# German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese and Korean.
_WORDS: Mapping[str, str] = {
    "weather": "wetter meteo temps tempo tiempo clima pronostico previsao weer pogoda погода погоду погоды 天气 天気 "
    "날씨 regnet pleut llueve lluvia pluie regen temperatur temperature temperatura температура 气温 気温",
    "time": "uhrzeit uhr heure hora horas ora tijd laat godzina время времени часов 时间 時間 几点 何時 몇시 시간",
    "news": "nachrichten schlagzeilen actualites nouvelles noticias notizie nieuws wiadomosci новости 新闻 ニュ 뉴스",
    "email": "correo courriel mel mails почта письмо 邮件 电邮 メル 이메 메일",
    "message": "nachricht mensaje messaggio mensagem bericht wiadomosc сообщение 消息 短信 메시",
    "send": "sende senden schick schicke schicken envoie envoyer envoyez envia enviar enviame manda mandar invia "
    "inviare envie stuur verstuur wyslij отправь отправить отправьте 发送 发给 送信 送っ 보내",
    "search": "suche suchen finde finden cherche chercher recherche trouve trouver busca buscar encuentra cerca "
    "cercare trova procure procurar pesquise pesquisar zoek vind szukaj znajdz найди найти поиск ищи 搜索 查找 検索 "
    "探し 검색 찾아",
    "show": "zeige zeig zeigen montre montrer affiche afficher muestra mostrar mostra mostrami mostre toon pokaz "
    "покажи показать 显示 查看 表示 見せ 보여",
    "list": "liste auflisten lister listar elenca elencare lijst список 列出 一覧 목록",
    "book": "buche buchen reserviere reservieren reserver reservez reserva reservar prenota prenotare reserve boek "
    "zarezerwuj забронируй забронировать 预订 预定 予約 예약",
    "create": "erstelle erstellen anlegen cree creer creez crea crear creare crie criar maak aanmaken utworz stworz "
    "создай создать 创建 新建 作成 만들 생성",
    "delete": "losche loschen entferne entfernen supprime supprimer supprimez elimina eliminar borra borrar eliminare "
    "cancella apague apagar verwijder usun удали удалить 删除 削除 삭제",
    "cancel": "storniere stornieren annuliere annule annuler annulez cancela cancelar annulla annullare annuleer "
    "anuluj отмени отменить 取消 キャ 취소",
    "update": "aktualisiere aktualisieren andere andern modifie modifier actualiza actualizar modifica cambia cambiar "
    "aggiorna atualize atualizar wijzig обнови обновить измени 更新 修改 変更 변경 수정",
    "order": "bestellung bestelle bestellen commander pedido pedidos ordine ordinare encomenda bestelling zamowienie "
    "заказ заказа закажи 订单 注文 주문",
    "refund": "erstattung ruckerstattung erstatte rembourse rembourser remboursement reembolso reembolsa rimborso "
    "terugbetaling zwrot возврат 退款 返金 환불",
    "flight": "flug fluge vol vols vuelo vuelos volo voli voo voos vlucht vluchten рейс рейсы 航班 机票 飛行 航空 항공",
    "hotel": "albergo alberghi отель отели гостиница 酒店 ホテ 호텔",
    "restaurant": "restaurante restaurantes ristorante ristoranti ресторан 餐厅 餐馆 レス 식당",
    "table": "tisch mesa tavolo tafel stolik столик",
    "price": "preis preise kostet prix coute cuesta precio precios prezzo quanto custa preco prijs cena цена стоит "
    "价格 多少钱 値段 価格 가격",
    "stock": "aktie aktien aktienkurs kurs bourse accion acciones azione azioni acao acoes aandeel akcji акции 股票 "
    "股价 株価 주가 주식",
    "currency": "wahrung devise monnaie moneda divisa valuta moeda waluta валюта 货币 汇率 通貨 為替 환율",
    "convert": "umrechnen wandle convertis convertir convertissez convierte convertire converti converta converter "
    "omzetten przelicz конвертируй 换算 转换 変換 換算 변환",
    "translate": "ubersetze ubersetzen ubersetzung traduis traduire traduisez traduce traducir traduci tradurre "
    "traduza traduzir vertaal przetlumacz переведи перевод перевести 翻译 翻訳 번역",
    "calculate": "berechne berechnen rechne calcule calculer calculez calcula calcular calcola calcolare bereken "
    "oblicz посчитай вычисли 计算 計算 계산",
    "sum": "summe addiere somme additionne additionner suma sumar somma soma somar som сумма сложи 相加 合計 더하",
    "appointment": "termin termine rendez cita citas appuntamento compromisso reuniao reunion riunione besprechung "
    "afspraak spotkanie встреча встречу 会议 预约 会議 予定 회의 일정",
    "calendar": "kalender calendrier calendario agenda kalendarz календарь 日历 日程 カレ 캘린",
    "remind": "erinnere erinnerung rappelle rappel recuerdame recordatorio ricordami promemoria lembre lembrete "
    "herinner przypomnij напомни напоминание 提醒 リマ 알림",
    "play": "spiele spiel abspielen joue jouer reproduce pon riproduci toque tocar speel zagraj включи сыграй 播放 "
    "再生 재생 틀어",
    "music": "musik musique musica muziek muzyka музыка музыку 音乐 音楽 음악",
    "song": "chanson cancion canzone cancao liedje piosenka песня песню 歌曲 曲を 노래",
    "light": "licht lichter lampe lumiere lumieres luz luces luce luci luzes lamp swiatlo свет лампу 灯光 开灯 关灯 "
    "電気 照明 조명",
    "file": "datei dateien fichier fichiers archivo archivos fichero arquivo arquivos bestand plik файл файла файлы "
    "文件 ファ 파일",
    "read": "lesen lis lire lee leer leggi leggere leia ler lees przeczytaj прочитай прочти 读取 阅读 読ん 読み 읽어",
    "write": "schreibe schreiben ecris ecrire escribe escribir scrivi scrivere escreva escrever schrijf napisz напиши "
    "записать 写入 書き 書い",
    "user": "benutzer nutzer utilisateur utilisateurs usuario usuarios utente utenti gebruiker uzytkownik "
    "пользователь пользователя пользователей 用户 ユザ 사용자",
    "customer": "kunde kunden client cliente clientes clienti klant klient клиент клиента 客户 顧客 고객",
    "ticket": "vorfall incidencia tiquete тикет заявку 工单 チケ 티켓",
    "image": "bild bilder imagen imagens immagine afbeelding obraz изображение картинку 图片 图像 画像 이미지 그림",
    "draw": "zeichne dessine dessiner dibuja dibujar disegna desenhe teken narysuj нарисуй 描い",
    "account": "konto compte cuenta rekening счет аккаунт 账户 口座 계좌 계정",
    "balance": "kontostand solde saldo баланс 余额 残高 잔액",
    "transfer": "uberweise uberweisen virement transfere transferer transfiere transferir transferencia trasferisci "
    "transfira overboeken przelej переведи перечисли 转账 送金 振込 송금 이체",
    "pay": "bezahle zahlen bezahlen paye payer paga pagar pagare betaal zaplac оплати оплатить 支付 付款 支払 결제",
    "buy": "kaufe kaufen achete acheter compra comprar comprare koop kup купи купить 购买 買っ 購入 구매",
    "recipe": "rezept rezepte recette recettes receta recetas ricetta ricette receita recept przepis рецепт рецепты "
    "食谱 レシ 레시피",
    "route": "weg strecke itineraire trajet ruta percorso rota caminho droga маршрут 路线 経路 경로",
    "distance": "entfernung distancia distanza afstand odleglosc расстояние 距离 距離 거리",
    "city": "stadt ville ciudad citta cidade stad miasto город города 城市 都市 도시",
    "location": "ort standort lieu lugar luogo plaats miejsce место 位置 地点 場所 위치",
    "name": "nom nombre nome naam имя 名字 名前 이름",
    "open": "offne offnen ouvre ouvrir abre abrir apri aprire abra otworz открой открыть 打开 開い 열어",
    "close": "schliesse schliessen ferme fermer cierra cerrar chiudi chiudere feche fechar sluit zamknij закрой "
    "закрыть 关闭 閉じ 닫아",
    "package": "paket pakete colis paquete pacco pacote pakket paczka посылка посылку 包裹 快递 荷物 택배",
    "product": "produkt produkte produit produits producto productos prodotto prodotti produto produtos товар товары "
    "产品 商品 제품 상품",
    "invoice": "rechnung rechnungen facture factures factura fattura fatura factuur faktura счет-фактура 发票 請求書 "
    "청구",
    "employee": "mitarbeiter employe empleado dipendente funcionario medewerker pracownik сотрудник 员工 社員 직원",
    "alarm": "wecker reveil despertador alarma sveglia wekker budzik будильник 闹钟 アラ 알람",
    "temperature": "heizung chauffage calefaccion riscaldamento aquecimento verwarming",
}


Keys = frozenset[str]  # a stem, and the groups of synonyms that it is in: words with a common key mean the same


def words(text: str) -> tuple[str, ...]:
    """The words of a text or of an identifier, in order, in lower case and without accents; `findOrder_2` has 3."""
    return _known_words(text) if len(text) < _SHORT else tuple(_words(text))


@lru_cache(maxsize=4096)
def keys(word: str) -> Keys:
    """What a word is compared by; empty where it says nothing."""
    if word in _SILENT or (len(word) == 1 and word.isascii() and word not in _SIGNS):
        return frozenset()
    meant = roots(word)
    return meant | {group for each in meant for group in _groups().get(each, ())}


def roots(word: str) -> Keys:
    """The stem of a word, and of each English word that it stands for."""
    return frozenset({stem(word), *_meanings().get(word, ())})


@lru_cache(maxsize=4096)
def weight(word: str) -> float:
    """How much a word tells of what is asked for, from 0 to 1: `weather` more than `send`, that more than `get`."""
    if not keys(word):
        return 0.0
    return min(_weights().get(root, 1.0) for root in roots(word))


def is_deed(word: str) -> bool:
    """Whether a word says what is done, even if no more than that something is looked at."""
    return is_action(word) or reads(word)


def reads(word: str) -> bool:
    """Whether a word asks for what is there, rather than for something to be done with it."""
    return not _READING.isdisjoint(roots(word))


def is_action(word: str) -> bool:
    """Whether a word says what is done, rather than with what."""
    return weight(word) == _WEIGHT_OF_ACTION


def leading(said: Sequence[str]) -> str:
    """The first word that tells anything, if it may be what is to be done: not `schedule` of `my schedule`."""
    at = next((at for at, word in enumerate(said) if keys(word)), None)
    return "" if at is None or (at and said[at - 1] in _DETERMINERS) else said[at]


def stem(word: str) -> str:
    """A word without its ending: `bookings`, `booking` and `book` have one stem."""
    for _ in range(3):
        shorter = _without_ending(word)
        if shorter == word:
            break
        word = shorter
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 2 and word[-1] == "y":
        word = word[:-1] + "i"
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


@lru_cache(maxsize=4096)
def _known_words(text: str) -> tuple[str, ...]:
    """The same for names and descriptions, which come with every request of a client."""
    return tuple(_words(text))


def _words(text: str) -> Iterator[str]:
    for found in _PIECE.finditer(_plain(text)):
        piece = found[0]
        if _UNSPACED.match(piece):
            yield from (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))
        else:
            yield piece.lower()


def _plain(text: str) -> str:
    """A text without accents, and with one word for what takes several: `3 times 4` is no time."""
    bare = text.replace("’", "'")
    if not bare.isascii():
        bare = normalize("NFC", "".join(sign for sign in normalize("NFKD", bare) if not combining(sign)))
    for phrase, word in _PHRASES:
        bare = phrase.sub(word, bare)
    return bare


def _without_ending(word: str) -> str:
    for ending, instead, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word[: -len(ending)] + instead
    return word


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """The groups that each stem is in."""
    found: dict[str, tuple[str, ...]] = {}
    for group in SYNONYMS:
        for word in group.split():
            found[stem(word)] = (*found.get(stem(word), ()), "~" + group.split()[0])
    return found


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    """The stems of the English words that each foreign one stands for, which has no English endings itself."""
    found: dict[str, tuple[str, ...]] = {}
    for word, english in foreign():
        for piece in _words(word):
            found[piece] = (*found.get(piece, ()), stem(english))
    return found


@cache
def _weights() -> dict[str, float]:
    return {stem(word): weight for weight, listed in _LIGHT.items() for word in listed.split()}


_SHORT = 1_000
_BEFORE_A_NOUN = "a an the my your our his her their its this that these any some of what which whose s"
_DETERMINERS = frozenset(_BEFORE_A_NOUN.split())
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
    r"|[^\W\d_A-Za-z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[+*×÷]"
)
# What is said in several words or signs, and the word that stands for it.
_PHRASES = tuple(
    (re.compile(phrase), word)
    for phrase, word in (
        (r"(?<=[A-Za-z])'(?:s|re|ll|ve|d|m)\b", ""),
        (r"\b[eE]-(?=mail)", "e"),
        (r"\b(?=(?:[Ee]?mail|[Mm]essage|[Tt]ext)\s+(?:it|them|him|her|me|us|the|[A-Z]\w|\S{1,64}@))", "send "),
        (r"(?<=\d )(?:times|x)(?= \d)", "×"),
        (r"\b[Ll]ook(?:ing|ed)?\s+up\b", "lookup"),
        (r"\b[Hh]ow\s+(?:much|many)\b(?=[^.?!\n]{0,24}\d[^.?!\n]{0,30}\b(?:in|to)\b)", "convert"),
        (r"\b[Hh]ow\s+many\s+\w{1,20}\s+(?:is|are|are\s+in|are\s+there\s+in|in)(?=\s+(?:an?\s|\d))", "convert"),
        (r"\b[Hh]ow\s+much\s+(?:money|cash)\b", "balance money"),
        (r"\b[Hh]ow\s+much\s+(?:is|are|does|do|for)\b", "price"),
        (r"\b[Gg]et\s+(?:from|to)\b", "route"),
        (r"\b[Mm]oney\s+back\b", "refund"),
        (r"\b[Ll]og(?:ging)?[\s-]+in\b", "login"),
        (r"\b[Ss]ign(?:ing)?[\s-]+up\b", "register"),
        (r"\b[Ss]et(?:ting)?[\s-]+up\b", "create"),
        (r"\b[Pp]ut\s+on\b", "play"),
        (r"\b[Hh]ow\s+(?:do|does|would|can)\s+(?:you|I|we|one)\s+say\b", "translate"),
        (r"(?<!\S)(?:[\w./-]{0,64}/)?\*{1,2}(?:/\*)?\.\w{1,8}\b", " glob file pattern "),
        (r"\bhttps?://\S+", " url "),
        (r"(?<!\S)~?/[\w.-]+(?:/[\w.-]*)*", " file "),
        (r"\b[\w-]{1,64}\.(?:txt|md|py|csv|json|ya?ml|log|pdf|html?|js|ts|toml|ini|xml|xlsx?|docx?)\b", " file "),
    )
)
_SIGNS = "+*×÷"

# An ending, what stands in its place, and how many characters there must be before it.
_ENDINGS = (
    ("news", "news", 0),
    ("ification", "ify", 2),
    ("ologists", "olog", 2),
    ("ologist", "olog", 2),
    ("ology", "olog", 2),
    ("version", "vert", 3),
    ("ysis", "yz", 3),
    ("yse", "yz", 3),
    ("yze", "yz", 3),
    ("ations", "", 4),
    ("ation", "", 4),
    ("ators", "", 4),
    ("ator", "", 4),
    ("ate", "", 4),
    ("ating", "", 4),
    ("ated", "", 4),
    ("ising", "iz", 4),
    ("izing", "iz", 4),
    ("ise", "iz", 4),
    ("ize", "iz", 4),
    ("ions", "", 4),
    ("ion", "", 4),
    ("ments", "", 3),
    ("ment", "", 3),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ery", "", 4),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("sses", "ss", 2),
    ("xes", "x", 2),
    ("ed", "", 3),
    ("ers", "", 4),
    ("er", "", 4),
    ("or", "", 5),
    ("ss", "ss", 0),
    ("us", "us", 0),
    ("is", "is", 0),
    ("s", "", 2),
)

_WEIGHT_OF_ACTION = 0.6
# Words of interfaces that tell little, by how much they tell; all others tell everything.
_LIGHT = {
    0.1: "tool function api current data info information detail result value given specific agent assistant service "
    "system request response call use handoff delegate handle main new latest simple general helper handler "
    "execute perform process provide ask question answer return based available local preview thing stuff item object",
    0.15: "get fetch retrieve obtain show display view see tell give check read list web internet online database db "
    "knowledge base",
    0.3: "search find lookup look query browse seek set",
    0.4: "text message run turn switch",
    _WEIGHT_OF_ACTION: "create make generate build register insert delete remove erase drop cancel update change "
    "modify edit send write save store schedule plan draw buy purchase start stop open close add post submit upload "
    "download move copy transfer assign approve reject rename publish",
}

_READING_WORDS = (
    "get fetch retrieve obtain show display view see check read list search find lookup look query browse seek track "
    "count describe inspect examine"
)
_READING = frozenset(map(stem, _READING_WORDS.split()))

# Words that tell nothing of what is asked for.
_SAYING_NOTHING = (
    "a an the this that these those it its i you he she we they me him her us them my your his our their mine yours is "
    "are was were be been being am do does did done doing have has had having can could will would shall should may "
    "might must and or but if so as than too very just only also then there here what which who whom whose when why "
    "how to of in on at by for from with about into over under out up down off not no yes ok okay please thanks thank "
    "hello hi hey want wants need needs like let lets some any all each every both more most other such own same again "
    "now well really quite s t re ve ll d m don doesn didn isn aren won ing one ones something anything someone "
    "anyone everything using used via per between after before during while because until against without within e g "
    "eg etc ie sure kindly maybe perhaps going go gets got help know think many much long back"
)
_SILENT = frozenset(_SAYING_NOTHING.split())
