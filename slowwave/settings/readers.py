"""The group of settings that bounds what comes in: lines, messages, files, folders and parts."""

from slowwave.settings.groups import Group, setting


class ReaderSettings(Group):
    """Bounds of what is read. What is over one is named with its place in the report, and counted."""

    line_bytes: int = setting(
        16_000_000,
        "Bytes of a line of a transcript; a longer one is left out, and never held in memory.",
        ge=10_000,
        le=64_000_000,
    )
    conversation_bytes: int = setting(
        32_000_000,
        "Bytes of a conversation in an export, which is held in memory whole; a longer one is left out.",
        ge=10_000,
        le=128_000_000,
    )
    message_characters: int = setting(
        200_000,
        "Characters of a message; of a longer one the first three quarters and the last quarter of so many are taken.",
        ge=1_000,
        le=1_000_000,
    )
    document_bytes: int = setting(
        4_000_000,
        "Bytes of a document; of a longer one the first so many are taken.",
        ge=100_000,
        le=50_000_000,
    )
    file_bytes: int = setting(
        4_000_000_000, "Bytes of a file; a longer one is not read.", ge=10_000, le=1_000_000_000_000
    )
    file_lines: int = setting(
        500_000,
        "Lines of a transcript that are taken; those behind them are counted.",
        ge=1_000,
        le=5_000_000,
    )
    folder_files: int = setting(
        200_000,
        "Files of a folder; of more, the first in the order of their names are read.",
        ge=1,
        le=1_000_000,
    )
    part_turns: int = setting(
        5_000,
        "Turns that are stored together, so that memory stays bounded and a kill loses little.",
        ge=1,
        le=20_000,
    )
    part_characters: int = setting(
        4_000_000, "Characters of turns that are stored together, about.", ge=10_000, le=20_000_000
    )
    part_files: int = setting(500, "Small files that are stored together.", ge=1, le=2_000)
    shown_places: int = setting(
        20, "Places that a report names for one reason; the others are counted.", ge=1, le=1_000
    )
    ahead_hours: float = setting(
        24.0,
        "Hours that what is taken in may be dated after the moment of it, since clocks differ; what is dated later yet "
        "was said on an unknown day.",
        ge=0,
        le=8_784,
    )
    import_salience: float = setting(
        0.6, "Salience of a memory that another program had written down, when it is taken in.", ge=0, le=1
    )
    import_confidence: float = setting(
        0.8, "Confidence of a memory that another program had written down, when it is taken in.", ge=0, le=1
    )
