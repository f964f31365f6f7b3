"""Translates the phrases of an app: python app.py Danish Hello"""

import sys

from openai import OpenAI

client = OpenAI()  # once, when this module is imported


def translate(phrase: str, language: str) -> str:
    """The phrase in another language."""
    orders = f"Translate into {language}. Answer with the translation only."
    answer = client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "system", "content": orders}, {"role": "user", "content": phrase}]
    )
    return answer.choices[0].message.content or phrase


if __name__ == "__main__":
    print(translate(sys.argv[2], sys.argv[1]))
