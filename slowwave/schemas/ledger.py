"""Calls, tokens and cost of one run: in all, by model and by prompt."""

from pydantic import Field

from slowwave.schemas.refusals import Frozen


class LedgerLine(Frozen):
    """Sums of some calls. `cost` is in US dollars; null once a model without a price was called."""

    call_count: int = Field(default=0, ge=0, description="Requests sent, repeats included.")
    cached_count: int = Field(default=0, ge=0, description="Answers that came from the cache.")
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost: float | None = Field(default=0.0, ge=0)

    def __add__(self, other: "LedgerLine") -> "LedgerLine":
        return LedgerLine(
            call_count=self.call_count + other.call_count,
            cached_count=self.cached_count + other.cached_count,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


class Ledger(Frozen):
    """A snapshot; ledgers of several runs or stages add up with `+`."""

    total: LedgerLine = LedgerLine()
    by_model: dict[str, LedgerLine] = Field(default_factory=dict)
    by_prompt_version: dict[str, LedgerLine] = Field(default_factory=dict)

    @classmethod
    def of(cls, line: LedgerLine, *, model: str, prompt_version: str) -> "Ledger":
        """The ledger of one line alone."""
        return cls(total=line, by_model={model: line}, by_prompt_version={prompt_version: line})

    def __add__(self, other: "Ledger") -> "Ledger":
        return Ledger(
            total=self.total + other.total,
            by_model=_merge(self.by_model, other.by_model),
            by_prompt_version=_merge(self.by_prompt_version, other.by_prompt_version),
        )


def _merge(left: dict[str, LedgerLine], right: dict[str, LedgerLine]) -> dict[str, LedgerLine]:
    """Lines by name, added where both sides have the name; sorted by name."""
    names = sorted(left.keys() | right.keys())
    return {name: left.get(name, LedgerLine()) + right.get(name, LedgerLine()) for name in names}
