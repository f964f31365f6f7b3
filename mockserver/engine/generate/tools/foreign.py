"""Words of other languages by which tools are asked for, each under the English word that it stands for.

Knows no tools. Written without accents, as texts are compared; scripts without blanks by the pair of characters that
tells the word.
"""

from collections.abc import Iterator, Mapping


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
