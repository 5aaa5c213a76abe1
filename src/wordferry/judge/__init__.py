"""How good a distance is: votes, folds, triplets, agreement with people, estimators."""
