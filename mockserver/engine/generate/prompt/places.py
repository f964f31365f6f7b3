"""Names of countries and of states within them, and what people and things from there are called. Tables only."""


def _named(names: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in names.split(","))


COUNTRIES = _named("""
afghanistan, albania, alemanha, alemania, algeria, allemagne, andorra, angleterre, angola, argentina, armenia,
australia, austria, azerbaijan, bahamas, bahrain, bangladesh, barbados, belarus, belgien, belgique, belgium, belize,
benin, bhutan, bolivia, bosnia, botswana, brasil, brazil, brunei, bulgaria, burundi, cambodia, cameroon, canada, chad,
chile, china, colombia, congo, costa rica, croatia, cuba, cyprus, czech republic, czechia, denmark, deutschland,
djibouti, dominican republic, ecuador, egypt, el salvador, england, eritrea, espagne, espanha, españa, estados unidos,
estonia, eswatini, ethiopia, fiji, finland, france, francia, frankreich, gabon, gambia, germania, germany, ghana,
great britain, greece, greenland, grenada, guatemala, guinea, guyana, haiti, honduras, hungary, iceland, india,
indonesia, iran, iraq, ireland, israel, italia, italie, italien, italy, ivory coast, jamaica, japan, jordan,
kazakhstan, kenya, kosovo, kuwait, kyrgyzstan, laos, latvia, lebanon, lesotho, liberia, libya, liechtenstein,
lithuania, luxembourg, madagascar, malawi, malaysia, maldives, mali, malta, mauritania, mauritius, mexico, moldova,
monaco, mongolia, montenegro, morocco, mozambique, myanmar, méxico, namibia, nepal, netherlands, new zealand,
nicaragua, niederlande, niger, nigeria, north korea, north macedonia, norway, oman, pakistan, panama, papua new
guinea, paraguay, peru, perú, philippines, poland, polen, portugal, qatar, romania, russia, rwanda, saudi arabia,
schweiz, scotland, senegal, serbia, seychelles, sierra leone, singapore, slovakia, slovenia, somalia, south africa,
south korea, south sudan, spagna, spain, spanien, sri lanka, sudan, suisse, suiza, suriname, suíça, svizzera, sweden,
switzerland, syria, taiwan, tajikistan, tanzania, thailand, the netherlands, togo, tonga, trinidad, tunisia, turkey,
turkmenistan, türkei, türkiye, uae, uganda, uk, ukraine, united arab emirates, united kingdom, united states, united
states of america, uruguay, us, usa, uzbekistan, vanuatu, vatican, venezuela, vietnam, wales, yemen, zambia, zimbabwe,
états-unis, österreich
""")
STATES = _named("""
alabama, alaska, georgia, alberta, arizona, arkansas, bavaria, bayern, british columbia, california, colorado,
connecticut,
delaware, florida, hawaii, hessen, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new
mexico, new south wales, north carolina, north dakota, ohio, oklahoma, ontario, oregon, pennsylvania, quebec,
queensland, rhode island, sachsen, saxony, south carolina, south dakota, tasmania, tennessee, texas, utah, vermont,
victoria, virginia, west virginia, wisconsin, wyoming
""")
NATIONALITIES = _named("""
afghan, african, albanian, algerian, american, arab, argentine, argentinian, armenian, asian, australian, austrian,
bangladeshi, belgian, bolivian, brazilian, british, bulgarian, cambodian, canadian, caribbean, chilean, chinese,
colombian, croatian, cuban, czech, danish, dutch, egyptian, english, estonian, ethiopian, european, filipino, finnish,
french, georgian, german, ghanaian, greek, hungarian, icelandic, indian, indonesian, iranian, iraqi, irish, israeli,
italian, jamaican, japanese, jewish, jordanian, kenyan, korean, latvian, lebanese, lithuanian, malaysian,
mediterranean, mexican, mongolian, moroccan, nepali, nigerian, norwegian, pakistani, persian, peruvian, polish,
portuguese, romanian, russian, saudi, scottish, serbian, slovak, slovenian, spanish, swedish, swiss, syrian,
taiwanese, thai, tunisian, turkish, ukrainian, vietnamese, welsh
""")
