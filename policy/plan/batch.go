package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Score is Tetris's score of a job for a server: the dot product of what the server has and what the job needs.
func Score(available, demand []float64) float64 {
	s := 0.0
	for i := range available {
		s += available[i] * demand[i]
	}
	return s
}

// profile is a job with what decides its turn.
type profile struct {
	*Job
	heavy   bool
	pairs   []Pair // feasible ones, if heavy
	width   float64
	latency float64
}

// profiles computes widths and latencies. The width of a job with a large shuffle is the max number of racks over its feasible pairs; that of
// another is its tasks in racks. Its latency is the least over its pairs.
func (c *Cluster) profiles(jobs []Job, m Model) []*profile {
	out := make([]*profile, len(jobs))
	each := c.Containers()
	racksFor := func(n int64) int { return int(min(max((n+each-1)/each, 1), int64(len(c.Racks)))) }
	for i := range jobs {
		j := &jobs[i]
		p := &profile{Job: j, heavy: c.Heavy(j)}
		if p.heavy {
			p.pairs = c.Feasible(j, m)
			p.heavy = len(p.pairs) > 0
		}
		if !p.heavy {
			p.width = float64(j.Maps+j.Reduces) / float64(each)
			p.latency = c.Latency(j, Pair{racksFor(j.Maps), racksFor(j.Reduces)}, m)
		}
		for k, pair := range p.pairs {
			p.width = max(p.width, float64(pair.Maps+pair.Reduces))
			if l := c.Latency(j, pair, m); k == 0 || l < p.latency {
				p.latency = l
			}
		}
		out[i] = p
	}
	return out
}

// widestFirst sorts jobs by width, then by latency, both descending, then by ID.
func widestFirst(a, b *profile) int {
	return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(b.latency, a.latency), cmp.Compare(a.ID, b.ID))
}

// earliestFirst sorts jobs by predicted arrival.
func earliestFirst(a, b *profile) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), widestFirst(a, b))
}

// subBatches divides jobs into n parts of similar demand in three dimensions (shuffle bytes, maps, reduces) by Tetris: the part with the
// most capacity left takes the job with the highest score that fits, or the largest one if none does. The source sets a part's capacity to that of
// the cluster, which any real batch exceeds many times over; here it is the n-th part of the total demand, as 1 in each dimension.
func subBatches(jobs []*profile, n int) [][]*profile {
	const dims = 3
	demand := make([][dims]float64, len(jobs))
	var total [dims]float64
	for i, j := range jobs {
		demand[i] = [dims]float64{j.Shuffle, float64(j.Maps), float64(j.Reduces)}
		for d := range total {
			total[d] += demand[i][d]
		}
	}
	for i := range demand {
		for d := range total {
			if total[d] > 0 {
				demand[i][d] *= float64(n) / total[d]
			}
		}
	}
	sum := func(v [dims]float64) float64 { return v[0] + v[1] + v[2] }
	left := make([]int, len(jobs))
	for i := range left {
		left[i] = i
	}
	parts, available := make([][]*profile, n), make([][dims]float64, n)
	for b := range available {
		available[b] = [dims]float64{1, 1, 1}
	}
	for len(left) > 0 {
		b := 0
		for k := range available {
			if sum(available[k]) > sum(available[b]) {
				b = k
			}
		}
		room := available[b]
		for d := range room {
			room[d] = max(room[d], 0)
		}
		best, largest, score, size := -1, 0, -1.0, -1.0
		for at, i := range left {
			v := &demand[i]
			if s := sum(*v); s > size {
				largest, size = at, s
			}
			if v[0] > room[0] || v[1] > room[1] || v[2] > room[2] {
				continue
			}
			if s := Score(room[:], v[:]); s > score {
				best, score = at, s
			}
		}
		if best < 0 {
			best = largest
		}
		i := left[best]
		left = slices.Delete(left, best, best+1)
		parts[b] = append(parts[b], jobs[i])
		for d := range available[b] {
			available[b][d] -= demand[i][d]
		}
	}
	return parts
}

// ordered is the list of jobs to be scheduled. Online, jobs come by predicted arrival. In a batch, they come in sub-batches, in random order.
func ordered(jobs []*profile, s *Settings) []*profile {
	if s.Online {
		list := slices.Clone(jobs)
		slices.SortFunc(list, earliestFirst)
		return list
	}
	parts := subBatches(jobs, max(1, s.Batches))
	rand.New(rand.NewPCG(s.Seed, uint64(len(jobs)))).Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
	var list []*profile
	for _, part := range parts {
		slices.SortFunc(part, widestFirst)
		list = append(list, part...)
	}
	return list
}
