"""Prints the average rating of each tea in data/brews.csv."""

import csv
from collections import defaultdict
from pathlib import Path

BREWS = Path(__file__).parent / "data" / "brews.csv"


def ratings_by_tea(path):
    """Returns {tea: [rating, ...]} in the order of the file."""
    ratings = defaultdict(list)
    with path.open(newline="") as file:
        for brew in csv.DictReader(file):
            ratings[brew["tea"]].append(int(brew["rating"]))
    return ratings


def main():
    for tea, ratings in sorted(ratings_by_tea(BREWS).items()):
        average = sum(ratings) / len(ratings)
        print(f"{tea:10} {average:.1f}  ({len(ratings)} brews)")


if __name__ == "__main__":
    main()
