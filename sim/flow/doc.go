// Package flow shares a network's links among the flows that cross them, max-min fairly, and says when each flow is finished.
//
// A flow is a path of links and a number of bytes. Nothing is said of packets: at any instant a flow has a rate, and rates
// change only when a flow starts or ends or a capacity changes. Rates are weighted max-min fair: a flow's level (its rate over
// its weight) is limited by its own cap or by a link that is full and on which no flow has a higher level (Bertsekas and
// Gallager, "Data networks", section 6.5.2; SimGrid's plain model of a network does the same).
//
// # How rates are found
//
// Every link that is full has a level and holds back the flows that it limits; other flows pass it with less. If a link knows
// the rates of those that pass, its level is (capacity - passing) / weight of those held back. An event changes that for the
// links on the flow's path. A list of links that are off, lowest level first, is worked off: a link is given its level, lets go
// of flows that another link now limits to less, takes hold of those that pass with more, and tells the other links of the
// flows it holds back, which may be off then. At the end every level is the one that follows from the others, and only the
// max-min fair rates have that property. Lowest first, each link is usually done once, and links below the lowest change are
// not touched at all.
//
// Three things make it cheap.
//
//   - Flows with the same path, weight and cap are a class, with one rate. This approximates nothing: a flow is finished when
//     what each flow of the class has been served since it joined reaches its bytes, so that flows may join at any time and
//     have any size, and every one finishes exactly when it would by itself.
//   - Links that certainly are not full are not looked at (see watch.go). Classes that cross the same other links are a bundle,
//     with one level. In a network of racks with narrow uplinks, rates cost by pairs of racks, however many nodes talk.
//   - Finishes hang on clocks: each link's clock goes at its level, and a bundle is due when the clock of the link that holds
//     it back shows a number that does not change with the rate. A new rate is O(1) for all flows that have it.
//
// # Tolerance
//
// With Tolerance(eps), a link is off only when it is further from its capacity than eps times the rate of the flows it holds
// back. Changes below that are not passed on, but nothing is forgotten: what a link is off by is always counted from its
// capacity, so that small changes add up until they are passed on, and errors do not pile up. What this guarantees:
//
//   - every link carries at most capacity / (1 - eps), and one that holds flows back at least capacity / (1 + eps);
//   - the rates are exactly the max-min fair rates of a network whose capacities differ from the real ones by no more than that;
//   - bytes, loads and finishes follow from those rates exactly: what flows carry and what links carry is the same.
//
// How far the time a flow takes is from exact, 5,000 random flows at once and 7,000 after them on 30 racks of 20 nodes:
//
//	eps     on average   99 of 100 at most   999 of 1,000 at most   all at most
//	1e-4    0.0004 %     0.003 %             0.02 %                 0.08 %
//	1e-3    0.01 %       0.07 %              0.4 %                  1.6 %
//	1e-2    0.1 %        0.6 %               3 %                    120 %
//
// The last column is chance: a short flow that meets another one which, exactly, is just gone.
//
// # Speed
//
// Processor time for one flow, from start to end, while so many random flows are under way on the same network, in microseconds
// (BenchmarkReplace, the least of three runs on a busy machine with 2 cores):
//
//	flows under way     100   1,000   5,000   20,000
//	exact                 4      18      21       25
//	eps 1e-3              4      13      11       11
//	eps 1e-2              4       6       4        6
//
// All to all between 30 nodes at one switch (BenchmarkShuffle), with 1,000 and with 10,000 flows under way: 11 and 13 exactly,
// 4 and 1.3 with eps 1e-2. A thousand starts at one instant cost 1 to 2 each.
//
// Everything is deterministic: the same calls give the same results to the last bit.
package flow
