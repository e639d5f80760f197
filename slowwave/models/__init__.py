"""Everything that talks to a model: prompts, answers, the gateway to the language model, embeddings.

A request goes in, an outcome comes out: a validated answer, or an error with the reason. One item's failure
never stops the others, an outage costs a few requests and not one for each item, and a budget is a bound.

    cache -> budget left? does it fit? -> send (repeated when it can pass) -> validate -> ask again -> cache
"""
