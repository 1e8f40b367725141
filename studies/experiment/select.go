package experiment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
)

// Select finds the experiments named by words, in the order of the studies:
//
//	capacity              a whole study
//	capacity/E01, E01     an experiment; without its study where only one study has it
//	E01..E32              a range, in the study's order
//	E*, capacity/V2-*     a pattern
//	long-first            a group
//	S03-slower, S03-*     those that a check, or all checks of a pattern that no experiment matches, need
//
// Names are case-insensitive.
func Select(studies []*Study, words []string) ([]Selection, error) {
	chosen := make([]map[string]bool, len(studies))
	for i := range chosen {
		chosen[i] = map[string]bool{}
	}
	for _, word := range words {
		found, err := find(studies, word)
		if err != nil {
			return nil, err
		}
		for i, ids := range found {
			for _, id := range ids {
				chosen[i][id] = true
			}
		}
	}
	var selected []Selection
	for i, s := range studies {
		var ids []string
		for _, e := range s.Experiments {
			if chosen[i][e.ID] {
				ids = append(ids, e.ID)
			}
		}
		if len(ids) > 0 {
			selected = append(selected, Selection{Study: s, Experiments: ids})
		}
	}
	return selected, nil
}

// find is what one word names, by study index.
func find(studies []*Study, word string) (map[int][]string, error) {
	if i := slices.IndexFunc(studies, func(s *Study) bool { return strings.EqualFold(s.Name, strings.TrimSuffix(word, "/")) }); i >= 0 {
		return map[int][]string{i: ids(studies[i])}, nil
	}
	if name, rest, cut := strings.Cut(word, "/"); cut {
		if i := slices.IndexFunc(studies, func(s *Study) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
			found, err := studies[i].find(rest)
			switch {
			case err != nil:
				return nil, err
			case len(found) == 0:
				return nil, unknown(studies[i:i+1], rest, "the study "+studies[i].Name)
			}
			return map[int][]string{i: found}, nil
		}
	}
	found := map[int][]string{}
	var in []string
	var wrong error
	for i, s := range studies {
		some, err := s.find(word)
		if err != nil {
			wrong = err
		} else if len(some) > 0 {
			found[i] = some
			in = append(in, s.Name+"/"+word)
		}
	}
	switch {
	case len(found) == 0 && wrong != nil:
		return nil, wrong
	case len(found) == 0:
		return nil, unknown(studies, word, "any study")
	case len(found) > 1:
		return nil, fmt.Errorf("%q is in several studies: write %s", word, strings.Join(in, " or "))
	}
	return found, nil
}

// find is what a word names in a study; empty if nothing.
func (s *Study) find(word string) ([]string, error) {
	if e := s.at(word); e >= 0 {
		return []string{s.Experiments[e].ID}, nil
	}
	var found []string
	for _, e := range s.Experiments {
		if strings.EqualFold(e.Group, word) {
			found = append(found, e.ID)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	for i := range s.Checks {
		if c := &s.Checks[i]; strings.EqualFold(c.ID, word) {
			return c.needs(), nil
		}
	}
	if from, to, isRange := strings.Cut(word, ".."); isRange {
		return s.between(from, to)
	}
	if !strings.ContainsAny(word, "*?[") {
		return nil, nil
	}
	matches := func(id string) bool {
		match, _ := path.Match(strings.ToLower(word), strings.ToLower(id))
		return match
	}
	if _, err := path.Match(word, ""); err != nil {
		return nil, fmt.Errorf("%q is not a pattern: * stands for any letters, ? for one, [ab] for either", word)
	}
	for _, e := range s.Experiments {
		if matches(e.ID) {
			found = append(found, e.ID)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	for i := range s.Checks {
		if c := &s.Checks[i]; matches(c.ID) {
			found = append(found, c.needs()...)
		}
	}
	return found, nil
}

// between is a range of experiments.
func (s *Study) between(from, to string) ([]string, error) {
	if name, rest, cut := strings.Cut(to, "/"); cut && strings.EqualFold(name, s.Name) { // capacity/E01..capacity/E08
		to = rest
	}
	a, b := s.at(from), s.at(to)
	switch {
	case a < 0 && b < 0:
		return nil, nil
	case a < 0:
		return nil, unknown([]*Study{s}, from, "the study "+s.Name)
	case b < 0:
		return nil, unknown([]*Study{s}, to, "the study "+s.Name)
	case a > b:
		return nil, fmt.Errorf("%s..%s goes backwards: write %s..%s", from, to, s.Experiments[b].ID, s.Experiments[a].ID)
	}
	return ids(s)[a : b+1], nil
}

// at is the index of an experiment, or -1.
func (s *Study) at(id string) int {
	for i := range s.Experiments {
		if strings.EqualFold(s.Experiments[i].ID, id) {
			return i
		}
	}
	return -1
}

func ids(s *Study) []string {
	all := make([]string, len(s.Experiments))
	for i, e := range s.Experiments {
		all[i] = e.ID
	}
	return all
}

// unknown reports that a word names nothing, with suggestions.
func unknown(studies []*Study, word, where string) error {
	var names []string
	for _, s := range studies {
		names = append(names, ids(s)...)
		names = append(names, s.Name)
		names = append(names, s.Groups()...)
		for i := range s.Checks {
			names = append(names, s.Checks[i].ID)
		}
	}
	return fmt.Errorf("%q names no experiment of %s%s", word, where, suggest.Hint(word, names))
}
