package watch

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/whatif/alike"
	"github.com/yardmaster/yardmaster/whatif/goal"
)

// pair is an application since the change, and the figures of those before that are like it.
type pair struct {
	value float64
	likes *[]float64
}

// size is a class of applications of one kind: those whose containers held about as much, within a factor of two. An application that has not ended may still
// hold more, so it is like all of its kind.
type size struct {
	kind  alike.Kind
	class int
}

// anySize is the class of all applications of a kind.
const anySize = math.MaxInt

func kindOf(a *App) alike.Kind { return alike.Kinds(a.User, a.Name, a.Queue)[0] }

func classOf(a *App) int {
	if a.Held <= 0 {
		return anySize
	}
	return int(math.Round(math.Log2(a.Held)))
}

// match pairs the applications since with those before, and counts both in the figure.
func match(before, since []App, figure string, f *Figure) (pairs []pair) {
	likes := map[size]*[]float64{}
	add := func(k size, v float64) {
		if likes[k] == nil {
			likes[k] = &[]float64{}
		}
		*likes[k] = append(*likes[k], v)
	}
	for i := range before {
		a := &before[i]
		v, _ := a.figure(figure)
		add(size{kindOf(a), anySize}, v)
		if c := classOf(a); c != anySize {
			add(size{kindOf(a), c}, v)
		}
	}
	used := map[*[]float64]bool{}
	kinds := map[alike.Kind]bool{}
	for _, a := range since[max(0, len(since)-maxPairs):] {
		k := size{kindOf(&a), anySize}
		if !a.Finished.IsZero() {
			k.class = classOf(&a)
		}
		if l := likes[k]; l != nil {
			v, _ := a.figure(figure)
			pairs, used[l] = append(pairs, pair{v, l}), true
			kinds[k.kind] = kinds[k.kind] || k.class == anySize
		}
	}
	f.Pairs = len(pairs)
	for k, l := range likes {
		if used[l] && (k.class == anySize || !kinds[k.kind]) { // those of all sizes include the others
			f.Likes += len(*l)
		}
	}
	return pairs
}

// point is what the pairs compare: as many figures before for each since, taken in turn.
func point(pairs []pair) (before, since []float64) {
	times := map[*[]float64]int{}
	for _, p := range pairs {
		times[p.likes]++
	}
	each := 12
	for l, n := range times {
		each = max(each, min(len(*l)/n, 100)) // so that all of them count
	}
	next := map[*[]float64]int{}
	for _, p := range pairs {
		since = append(since, p.value)
		for range each {
			before = append(before, (*p.likes)[next[p.likes]%len(*p.likes)])
			next[p.likes]++
		}
	}
	return before, since
}

// resampled are changes in bootstrap resamples of the pairs, and of what they are compared with, sorted.
func resampled(pairs []pair, use goal.Goal) []float64 {
	random := rand.New(rand.NewPCG(1, 2)) // the same applications give the same interval
	var lists []*[]float64
	at := map[*[]float64]int{}
	of := make([]int, len(pairs))
	for i, p := range pairs {
		k, known := at[p.likes]
		if !known {
			k = len(lists)
			at[p.likes], lists = k, append(lists, p.likes)
		}
		of[i] = k
	}
	drawn := make([][]float64, len(lists))
	for i, l := range lists {
		drawn[i] = make([]float64, len(*l))
	}
	before, since, changes := make([]float64, picks*len(pairs)), make([]float64, len(pairs)), make([]float64, resamples)
	for i := range changes {
		for k, l := range lists {
			for j := range drawn[k] {
				drawn[k][j] = (*l)[random.IntN(len(*l))]
			}
		}
		for j := range since {
			k := random.IntN(len(pairs))
			since[j] = pairs[k].value
			for n := range picks {
				before[picks*j+n] = drawn[of[k]][random.IntN(len(drawn[of[k]]))]
			}
		}
		changes[i] = number(use.Of(since)/use.Of(before) - 1)
	}
	slices.Sort(changes)
	return changes
}
