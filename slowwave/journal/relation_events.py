"""Events of what memories form together: topics, pairs, contradictions, core memory, the graph, nights."""

from slowwave.journal.event_kind import kind_of, row_of

OF_RELATIONS = (
    kind_of(
        "topic.opened",
        "topic_id name OWNER MADE_BY",
        "topics opened",
        "A topic was opened.",
        added=({"prompt_version": None, "model": None},),
    ),
    kind_of(
        "topic.counted",
        "topic_id cell_count unsummarized_count",
        "topics counted again",
        "A topic's live and unsummarized cells were counted again.",
    ),
    kind_of(
        "topic.merged",
        "topic_id merged_into",
        "topics merged",
        "A topic was found near-identical to another.",
    ),
    kind_of("topic.renamed", "topic_id name", "topics renamed", "A topic got a better name."),
    kind_of(
        "topic.summarized",
        "topic_id summary compressed cell_ids MADE_BY",
        "topic summaries written",
        "A topic's summary was written from the live cells named.",
    ),
    kind_of(
        "topic.flagged",
        "topic_id reason",
        "topics marked for review",
        "A topic's summary depends on a superseded memory.",
    ),
    kind_of(
        "pair.judged",
        row_of("judgements", without=("judged_at",)),
        "pairs judged or noted",
        "A pair of memories was judged, or noted as unjudged.",
    ),
    kind_of(
        "contradiction.opened",
        "contradiction_id cell_a cell_b subject attribute note OWNER MADE_BY",
        "contradictions opened",
        "Two memories cannot both hold.",
    ),
    kind_of(
        "contradiction.imported",
        row_of("contradictions", without=()),
        "contradictions imported",
        "A contradiction came from an export of another home, open or resolved as it was there.",
    ),
    kind_of(
        "contradiction.closed",
        "contradiction_id resolution note",
        "contradictions closed, since a side no longer stands",
        "A contradiction ended because one of its memories no longer stands.",
    ),
    kind_of(
        "contradiction.resolved",
        "contradiction_id resolution resolution_note winner_id former_supersedes former_summary",
        "contradictions resolved",
        "A person settled a contradiction; the former fields of the winner are what taking it back restores.",
        is_raw=True,
    ),
    kind_of(
        "contradiction.reopened",
        "contradiction_id",
        "contradictions opened again",
        "A person took the resolution of a contradiction back.",
        is_raw=True,
    ),
    kind_of(
        "topic.unsummarized",
        "topic_id cell_ids reason",
        "topic summaries taken back",
        "A topic's summary held what a person took away: it is gone, and the live cells named wait for a new one.",
    ),
    kind_of(
        "core.promoted",
        row_of("core", "reason MADE_BY", without=("promoted_at",)),
        "lines of core memory that entered or were reworded",
        "A memory stands in core memory at this line.",
        sentence=lambda row: f"line {row['line_rank']} of core memory",
    ),
    kind_of(
        "core.moved",
        "cell_id line_rank",
        "lines of core memory that moved up or down",
        "A line of core memory has another place, because of lines before it that came or left.",
    ),
    kind_of(
        "core.demoted",
        "cell_id reason",
        "lines of core memory that left",
        "A memory left core memory; it stays in the store.",
        sentence=lambda row: f"left core memory: {row['reason']}",
    ),
    kind_of(
        "entity.resolved",
        "entity_id OWNER canonical_name entity_type aliases family mention_count",
        "entities found or changed",
        "A person or thing was found, or its names and mentions changed.",
    ),
    kind_of(
        "entity.merged",
        "entity_id merged_into",
        "entities that became one with others",
        "An entity turned out to be another one, which took over its names.",
    ),
    kind_of(
        "entity.dropped",
        "entity_id",
        "entities that no memory names any more",
        "No memory names this entity any more.",
    ),
    kind_of(
        "entity.enriched",
        "entity_id summary enriched_count MADE_BY",
        "entity summaries written",
        "A model wrote who or what an entity is, from this many mentions.",
    ),
    kind_of(
        "entity.flagged",
        "entity_id reason",
        "entities marked for review",
        "An entity's summary rests on a memory that was superseded.",
    ),
    kind_of(
        "entity.unsummarized",
        "entity_id reason",
        "entity summaries taken back",
        "An entity's summary may tell what a person took away: it is gone, and the next one is written without it.",
    ),
    kind_of(
        "identity.recorded",
        row_of("identities"),
        "descriptions of people compared with others",
        "Whoever is described so is the same person as another, or as none of those shown.",
    ),
    kind_of(
        "identity.dropped",
        "identity_id",
        "descriptions of people parted from others",
        "A memory is gone that said who is described so.",
    ),
    kind_of("mention.recorded", row_of("mentions"), "mentions recorded", "A memory names this entity."),
    kind_of(
        "mention.dropped",
        "mention_id",
        "mentions of memories that are gone",
        "The memory that named an entity is gone.",
    ),
    kind_of(
        "artifact.recorded",
        row_of("artifacts"),
        "artifacts recorded",
        "A memory names a commit, pull request, record or file.",
    ),
    kind_of(
        "artifact.dropped",
        "artifact_id",
        "artifacts of memories that are gone",
        "The memory that named an artifact is gone.",
    ),
    kind_of(
        "edge.drawn",
        row_of("edges"),
        "edges drawn",
        "Two memories, or a memory and its evidence, belong together.",
    ),
    kind_of(
        "edge.ended", "edge_id valid_until reason", "edges that hold no longer", "A relation holds no longer."
    ),
    kind_of(
        "edge.dropped",
        "edge_id",
        "edges taken away",
        "An end of this relation is gone, or it took another way.",
    ),
    kind_of(
        "edge.examined",
        "edge_id MADE_BY",
        "pairs of sessions asked about causes",
        "A model was asked what of the later end the earlier one caused.",
    ),
    kind_of(
        "derivation.switched",
        "derivation_id",
        "derivations put in the place of the memory",
        "A new derivation took the place of the memory: what was derived in the segments before holds no longer.",
        is_raw=True,
    ),
    kind_of(
        "text.redacted",
        "redaction_id event_id secret_kind secret_count rules_id",
        "events that lost secrets",
        "Newer rules found secrets in an event: it was written anew without them, and ids made from its text with it.",
    ),
    kind_of(
        "space.fitted",
        row_of("spaces", without=("fitted_at",)),
        "fits of the vector space",
        "What all texts of the home share was fitted, with the noise left: its vectors leave it out from then on.",
        added=({"noise_mean": None, "noise_std": None, "kin": None},),
    ),
    kind_of(
        "night.completed", row_of("nights"), "nights recorded", "A night ended: what it did and what it cost."
    ),
)
