// What a search finds is ranked as Sphinx does, with front pages before the others.
var Scorer = {
  score: ([page, , , , score]) => (new Set(FRONT).has(page) ? score + 100 : score),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
