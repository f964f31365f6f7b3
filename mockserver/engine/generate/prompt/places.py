"""Names of countries and of the states of the USA, and what people and things from there are called. Tables only."""

from mockserver.engine.generate.prompt.words import listed

COUNTRIES = frozenset(
    name.strip()
    for name in ["afghanistan", " albania", " algeria", " andorra", " angola", " argentina", " armenia", " australia", " austria", " azerbaijan", " bahamas", " bahrain", " bangladesh", " barbados", " belarus", " belgium", " belize", " benin", " bhutan", " bolivia", " bosnia", " botswana", " brazil", " brunei", " bulgaria", " burundi", " cambodia", " cameroon", " canada", " chad", " chile", " china", " colombia", " congo", " costa rica", " croatia", " cuba", " cyprus", " czechia", " czech republic", " denmark", " djibouti", " dominican republic", " ecuador", " egypt", " el salvador", " england", " eritrea", " estonia", " eswatini", " ethiopia", " fiji", " finland", " france", " gabon", " gambia", " germany", " ghana", " greece", " greenland", " grenada", " guatemala", " guinea", " guyana", " haiti", " honduras", " hungary", " iceland", " india", " indonesia", " iran", " iraq", " ireland", " israel", " italy", " ivory coast", " jamaica", " japan", " jordan", " kazakhstan", " kenya", " kosovo", " kuwait", " kyrgyzstan", " laos", " latvia", " lebanon", " lesotho", " liberia", " libya", " liechtenstein", " lithuania", " luxembourg", " madagascar", " malawi", " malaysia", " maldives", " mali", " malta", " mauritania", " mauritius", " mexico", " moldova", " monaco", " mongolia", " montenegro", " morocco", " mozambique", " myanmar", " namibia", " nepal", " netherlands", " the netherlands", " new zealand", " nicaragua", " niger", " nigeria", " north korea", " north macedonia", " norway", " oman", " pakistan", " panama", " papua new guinea", " paraguay", " peru", " philippines", " poland", " portugal", " qatar", " romania", " russia", " rwanda", " saudi arabia", " scotland", " senegal", " serbia", " seychelles", " sierra leone", " singapore", " slovakia", " slovenia", " somalia", " south africa", " south korea", " south sudan", " spain", " sri lanka", " sudan", " suriname", " sweden", " switzerland", " syria", " taiwan", " tajikistan", " tanzania", " thailand", " togo", " tonga", " trinidad", " tunisia", " turkey", " türkiye", " turkmenistan", " uganda", " uk", " ukraine", " united arab emirates", " uae", " united kingdom", " great britain", " united states", " united states of america", " usa", " us", " uruguay", " uzbekistan", " vanuatu", " vatican", " venezuela", " vietnam", " wales", " yemen", " zambia", " zimbabwe", " deutschland", " frankreich", " italien", " spanien", " österreich", " schweiz", " polen", " türkei", " niederlande", " belgien", " allemagne", " espagne", " italie", " suisse", " belgique", " angleterre", " états-unis", " alemania", " francia", " españa", " italia", " suiza", " méxico", " brasil", " perú", " estados unidos", " germania", " spagna", " svizzera", " alemanha", " espanha", " suíça"]
)
STATES = frozenset(
    name.strip()
    for name in ["alabama", " alaska", " arizona", " arkansas", " california", " colorado", " connecticut", " delaware", " florida", " hawaii", " idaho", " illinois", " indiana", " iowa", " kansas", " kentucky", " louisiana", " maine", " maryland", " massachusetts", " michigan", " minnesota", " mississippi", " missouri", " montana", " nebraska", " nevada", " new hampshire", " new jersey", " new mexico", " north carolina", " north dakota", " ohio", " oklahoma", " oregon", " pennsylvania", " rhode island", " south carolina", " south dakota", " tennessee", " texas", " utah", " vermont", " virginia", " west virginia", " wisconsin", " wyoming", " ontario", " quebec", " british columbia", " alberta", " bavaria", " saxony", " bayern", " sachsen", " hessen", " queensland", " victoria", " tasmania", " new south wales"]
)
NATIONALITIES = frozenset(
    listed(
        "afghan african albanian algerian american arab argentine argentinian armenian asian australian austrian"
        " bangladeshi belgian bolivian brazilian british bulgarian cambodian canadian caribbean chilean chinese"
        " colombian croatian cuban czech danish dutch egyptian english estonian ethiopian european filipino finnish"
        " french georgian german ghanaian greek hungarian icelandic indian indonesian iranian iraqi irish israeli"
        " italian jamaican japanese jewish jordanian kenyan korean latvian lebanese lithuanian malaysian mediterranean"
        " mexican mongolian moroccan nepali nigerian norwegian pakistani persian peruvian polish portuguese romanian"
        " russian saudi scottish serbian slovak slovenian spanish swedish swiss syrian taiwanese thai tunisian turkish"
        " ukrainian vietnamese welsh"
    )
)
