# size: one long table
"""What kind of thing a property is by the words of its name, and what that kind is found by. Tables only, of stems."""

from mockserver.model.arguments.words import listed

# The nature of a property by a word of its name; the last word that is known decides.
NATURES: dict[str, str] = {
    word: nature
    for nature, words in {
        "place": "city location place town region area address street venue stadium airport station ort"
        " stadt ville lieu ciudad lugar città luogo cidade local origin destination departure capital"
        " arrival loc dest neighborhood neighbourhood destino origen port county zip origine near birthplace"
        " where stop timezone tz court warehouse district suburb quarter village",
        "country": "country land pays pais país paese",
        "state": "state province",
        "nationality": "nationality cuisine citizenship",
        "room": "room zone zimmer",
        "person": "person user customer client guest contact recipient sender assignee owner employee patient student"
        " player author artist director host organizer attendee participant invitee member assigned reporter reviewer"
        " agent passenger friend who manager creator singer writer speaker composer actor candidate driver"
        " doctor founder inventor chef coach captain teacher instructor professor lecturer judge lawyer attorney"
        " supervisor tenant landlord buyer seller applicant nurse pilot trainer referee holder beneficiary witness"
        " plaintiff defendant driver courier colleague boss child parent winner loser mechanic therapist",
        "name": "name nombre nom fullname",
        "forename": "firstname forename vorname prénom",
        "surname": "lastname surname nachname apellido cognome",
        "org": "company organization organisation org vendor supplier employer merchant restaurant hotel business store"
        " brand airline bank school university firma empresa institution shop manufacturer provider publisher customer",
        "job": "job role occupation profession position",
        "title": "title event label song track album book movie film playlist meeting project game show series heading"
        " caption product item dish recipe ingredient food drink service team repo repository branch app application"
        " article paper subject file_name device category genre department plan sport animal breed"
        " activity exercise occasion theme course material model",
        "text": "text message body content comment note description summary reason statement feedback reply"
        " sentence phrase review instruction memo detail post paragraph nachricht mensaje texto texte bio input",
        "query": "query question search topic keyword term prompt task todo goal objective request q thema consulta"
        " what about interest problem issue thought intent",
        "code": "code script snippet source_code program sql pattern regex",
        "command": "command cmd bash shell",
        "expression": "expression formula equation expr calculation calc",
        "date": "date day datum fecha data birthday deadline dob checkin checkout when appointment on",
        "time": "time hour clock uhrzeit hora heure ora open close opening closing",
        "datetime": "datetime timestamp at moment",
        "duration": "duration length interval period timeout minute second ms millisecond",
        "email": "email mail cc bcc e-mail correo",
        "url": "url uri link website webpage homepage site href endpoint webhook",
        "host": "host hostname domain server",
        "ip": "ip ipv4 ipv6",
        "phone": "phone telephone mobile tel fax telefon teléfono cell",
        "path": "path file filename filepath directory folder dir",
        "id": "id uuid guid key sku identifier reference ref token isbn ticket invoice tracking serial vin",
        "channel": "channel hashtag handle",
        "version": "version release tag_name",
        "currency": "currency waehrung devise moneda",
        "unit": "unit scale",
        "language": "language lang locale sprache langue idioma",
        "ticker": "ticker symbol stock",
        "color": "color colour farbe couleur",
        "money": "price amount cost total budget fee salary balance payment principal revenue fare tip subtotal"
        " tax rent"
        " income spend preis prix precio betrag deposit loan usd eur sum bid charge refund",
        "percent": "percent percentage rate discount brightness volume level humidity probability interest opacity",
        "quantity": "quantity count qty amount number num people adult children child traveler"
        " traveller seat copy share pack dice times piece repeat anzahl cantidad quantité party"
        " slice attempt retry share",
        "number": "number num n x y z a b c value val operand first second left right lhs rhs arg base exponent divisor"
        " dividend addend minuend subtrahend factor num1 num2 integer digit power",
        "limit": "limit max maximum top k result page per_page most offset",
        "age": "age alter edad âge",
        "year": "year jahr année año",
        "weight": "weight mass",
        "height": "height distance length width depth radius diameter",
        "temperature": "temperature temp",
        "days": "days night week month",
        "zip": "zip postal postcode zipcode plz",
    }.items()
    for word in words.split()
}

NUMERIC = frozenset(
    listed("money percent quantity number limit age year weight height temperature days duration id time date")
)
# What a nature becomes when the property's type is a number.
AS_NUMBER = {"person": "quantity", "place": "", "title": "quantity", "text": "number", "query": "", "unit": "quantity"}
AS_STRING = {"quantity": "", "number": "", "limit": "", "days": ""}

# How well a kind of mention suits a nature.
FITNESS: dict[str, dict[str, int]] = {
    "": {
        "quoted": 18,
        "name": 12,
        "id": 12,
        "words": 3,
        "slug": 15,
        "channel": 8,
        "version": 5,
        "color": 5,
        "path": 24,
        "url": 14,
        "email": 10,
        "currency": 14,
        "unit": 14,
        "ip": 10,
        "host": 10,
    },
    "place": {
        "name": 25,
        "country": 12,
        "state": 16,
        "words": 6,
        "quoted": 18,
        "address": 28,
        "id": 4,
        "path": 16,
        "url": 10,
    },
    "country": {"country": 42, "name": 14, "quoted": 12},
    "state": {"state": 48, "name": 14, "quoted": 12},
    "nationality": {"nationality": 45, "quoted": 18, "name": 2},
    "room": {"words": 18, "name": 18, "quoted": 18, "id": 22},
    "person": {
        "name": 25,
        "country": -20,
        "nationality": -20,
        "words": 2,
        "quoted": 16,
        "email": 32,
        "channel": 18,
        "id": 24,
    },
    "name": {"country": 2, "host": 10, "slug": 10, "name": 22, "quoted": 28, "words": 2, "id": 6},
    "org": {"name": 24, "quoted": 20, "words": 2},
    "title": {"slug": 12, "quoted": 32, "name": 24, "words": 4, "id": 4},
    "text": {"quoted": 45, "code": 8},
    "query": {"quoted": 40},
    "code": {"code": 70, "quoted": 20, "id": 30},
    "command": {"code": 65, "quoted": 40},
    "expression": {"expression": 60, "quoted": 40, "code": 40},
    "date": {"date": 50, "datetime": 42},
    "time": {"time": 50, "datetime": 30},
    "datetime": {"datetime": 55, "date": 34, "time": 30},
    "moment": {"datetime": 30, "date": 42, "time": 40},
    "duration": {"duration": 50},
    "email": {"email": 60},
    "url": {"url": 60, "host": 30, "quoted": 5},
    "host": {"host": 50, "ip": 45, "url": 20, "id": 15, "name": 5},
    "ip": {"ip": 60},
    "phone": {"phone": 60},
    "path": {"path": 55, "slug": 45, "quoted": 25, "code": 30},
    "id": {"id": 42, "uuid": 45, "quoted": 14, "name": 2},
    "uuid": {"uuid": 60},
    "channel": {"channel": 60, "name": 8, "quoted": 8},
    "version": {"version": 60, "quoted": 5},
    "currency": {"currency": 50, "money": 45},
    "unit": {"unit": 40, "currency": 10},
    "job": {"words": 8, "name": 6, "quoted": 16},
    "language": {"language": 50},
    "ticker": {"ticker": 50, "name": 8},
    "color": {"color": 50, "hue": 45, "words": 2},
    "zip": {"zip": 60, "id": 8},
    "house": {"house": 60},
    "forename": {"forename": 60, "name": 30, "quoted": 20},
    "surname": {"surname": 60, "name": 26, "quoted": 20},
}

# How much a preposition before a mention says for a nature.
CUED: dict[str, dict[str, int]] = {
    "place": {"in": 35, "at": 22, "near": 25, "to": 22, "from": 18, "for": 22, "of": 14, "around": 20, "on": 4}
    | {"about": 5, "between": 10, "with": -15, "by": -15, "named": -5},
    "country": {"in": 18, "to": 12, "from": 14, "of": 16, "for": 8, "by": -15, "with": -10},
    "state": {"in": 18, "of": 14, "from": 10, "by": -15, "with": -10},
    "room": {"in": 35, "of": 10, "for": 10, "named": 15, "to": 10},
    "person": {
        "for": 20,
        "with": 22,
        "to": 20,
        "by": 30,
        "from": 18,
        "named": 30,
        "in": -20,
        "at": -15,
        "of": 14,
        "as": -10,
    }
    | {"about": 5, "on": -10, "under": 10},
    "job": {"as": 45, "of": 5},
    "name": {
        "named": 45,
        "for": 20,
        "with": 5,
        "in": -20,
        "from": -12,
        "at": -15,
        "to": -5,
        "as": 5,
        "on": -15,
        "by": -10,
    },
    "org": {"near": 30, "at": 35, "from": 24, "by": 8, "of": 18, "for": 16, "in": -15, "with": 12, "to": 2},
    "title": {
        "named": 45,
        "about": 10,
        "in": -8,
        "from": -12,
        "to": -6,
        "by": -20,
        "of": 9,
        "for": 11,
        "at": -15,
        "on": -12,
    },
    "id": {"with": 8, "of": 8, "for": 8, "named": 5},
    "": {"named": 30, "as": 10, "in": 4, "with": 2, "from": 2, "to": 4, "for": 4, "on": 2},
    "date": {"on": 6, "for": 4},
    "time": {"at": 6},
}

# Which preposition a word of a property's name asks for.
ROLES: dict[str, str] = {
    **dict.fromkeys(
        listed(
            "from minimum base head origin source departure depart sender start begin pickup since after src"
            " checkin min"
        ),
        "from",
    ),
    **dict.fromkeys(listed("origen origine von desde start_date low lower earliest checkin old first"), "from"),
    **dict.fromkeys(
        listed(
            "to maximum assignee destination target dest recipient arrival arrive end dropoff until checkout"
            " before return"
        ),
        "to",
    ),
    **dict.fromkeys(
        listed("due deadline destino hasta nach into receiver finish stop upper high latest max new"), "to"
    ),
    **dict.fromkeys(listed("about topic subject"), "about"),
    **dict.fromkeys(listed("named title name label called"), "named"),
}
CUE_ROLES = {
    "from": "from",
    "since": "from",
    "between": "from",
    "to": "to",
    "into": "to",
    "until": "to",
    "by": "",
    "over": "from",
}
CUE_ROLES |= {"under": "to", "about": "about", "named": "named"}

# Words that mean the same when they stand beside a value or name a property.
SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "people guest person adult passenger traveler traveller seat party persona personne personen"
        " attendee serving pax",
        "capital city",
        "price cost amount fee total budget sum",
        "quantity count number amount qty time",
        "issue ticket bug task case story",
        "order purchase",
        "customer client user account member",
        "start begin from",
        "end until finish to",
        "limit max maximum most result top",
        "name called named",
        "mail email e-mail address",
        "phone telephone mobile cell call tel",
        "date day dated",
        "due deadline",
        "weight weigh mass kilo",
        "height tall high",
        "title titled subject headed",
        "label labelled labeled tag tagged category",
        "company employer firm organization organisation vendor",
        "assignee assign assigned owner",
        "job role profession occupation position work",
        "instructor professor teacher lecturer tutor",
        "doctor dr physician",
        "return returning back",
        "depart departure leave leaving left outbound departing",
        "checkin arrive arriving arrival",
        "checkout leaving",
        "rate interest",
        "minimum min least",
        "dice die",
        "duration length long last lasting",
        "temperature degree",
        "location city place town",
        "reason because",
        "night stay",
        "year published since",
        "friend people",
    )
)

# What the sign or the word after a number measures.
MEASURES: dict[str, str] = {
    word: nature
    for nature, words in {
        "weight": "kg g gram grams kilogram kilograms kilo kilos lb lbs pound pounds oz ounce ounces ton tons mg",
        "height": "m cm mm km mile miles mi meter meters metre metres kilometer kilometers kilometre kilometres ft"
        " feet foot inch inches yard yards centimeters nm",
        "temperature": "degree degrees °c °f °k celsius fahrenheit kelvin °",
        "percent": "% percent",
        "duration": "s sec second seconds min minute minutes h hour hours ms milliseconds",
        "days": "day days week weeks month months night nights",
        "storage": "gb mb kb tb gib mib bytes byte bits",
        "speed": "km/h mph m/s knots kph",
        "volume": "l liter liters litre litres ml gallon gallons cup cups tbsp tsp",
        "power": "w kw watt watts kwh v volt hp",
    }.items()
    for word in words.split()
}
