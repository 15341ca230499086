"""Print each column of a CSV file with its empty cells and its distinct values: `python columns.py table.csv`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def main() -> None:
    with Path(sys.argv[1]).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column in rows[0] if rows else []:
        values = [row[column] for row in rows]
        print(f"{column}: {values.count('')} empty, {len(set(values))} distinct, of {len(values)}")


if __name__ == "__main__":
    main()
