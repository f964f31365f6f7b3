"""OpenAI's API, which others resemble. A dialect takes what it needs of it, and says what differs.

api               the operations that most look-alikes have: chats, completions, embeddings, Responses
chat              chats as Calls; their fields are in chat_bodies
responses         Responses as Calls, and the replies; fields in responses_bodies, items of the input in input_items
completions, embeddings, moderations, images, audio
stored            chats and responses that are stored and retrieved
objects/          all else that is kept: files, batches, conversations, vector stores, ...
realtime/         sessions over a WebSocket
replay            changed histories that the live API refuses
lenient           what is read of conversations that it would refuse, for `validation: off`
media_files       which uploads are pictures and recordings
"""
