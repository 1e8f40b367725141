// Package flow shares a network's links among the flows that cross them, max-min fairly, and says when each flow is finished.
//
// A flow is a path of links and a number of bytes. Packets are not modelled: at any instant a flow has a rate, and rates change
// only when a flow starts or ends or a capacity changes. Rates are weighted max-min fair: a flow's level (its rate over its
// weight) is limited by its own cap or by a link that is full and on which no flow has a higher level (Bertsekas and Gallager,
// "Data networks", section 6.5.2; SimGrid's basic network model does the same).
//
// # How rates are found
//
// Every full link has a level and holds back the flows that it limits (it is their bottleneck); other flows pass it with a lower
// level. Given the rates of those that pass, a link's level is (capacity - passing) / weight of those held back. An event
// changes that for the links on the flow's path. A work list of inconsistent links, lowest level first, is processed: each link
// gets its level, releases flows that another link now limits to less, takes those that pass with more, and updates the other
// links of the flows it holds back, which may become inconsistent. At the end every level follows from the others, and only the
// max-min fair rates have that property. Lowest first, each link is usually processed once, and links below the lowest change
// are not touched at all.
//
// Three things make it cheap.
//
//   - Flows with the same path, weight and cap are a class, with one rate. This is exact: a flow finishes when what each flow of
//     the class has been served since it joined reaches its bytes, so flows may join at any time and have any size, and each
//     finishes exactly when it would by itself.
//   - Links that certainly are not full are skipped (see watch.go). Classes that cross the same other links are a bundle, with
//     one level. In a network of racks with narrow uplinks, the cost depends on pairs of racks, however many nodes communicate.
//   - Finishes are kept on virtual clocks: each link's clock runs at its level, and a bundle is due when the clock of the link
//     that holds it back shows a number that does not change with the rate. A new rate is O(1) for all flows that have it.
//
// # Tolerance
//
// With Tolerance(eps), a link is inconsistent only when it is further from its capacity than eps times the rate of the flows it
// holds back. Smaller changes are not propagated, but nothing is lost: a link's error is always computed from its capacity, so
// small changes add up until they are propagated, and errors do not accumulate. This guarantees:
//
//   - every link carries at most capacity / (1 - eps), and one that holds flows back at least capacity / (1 + eps);
//   - the rates are exactly the max-min fair rates of a network whose capacities differ from the real ones by no more than that;
//   - bytes, loads and finishes follow from those rates exactly: what flows carry and what links carry is the same.
//
// Error of a flow's duration, with 5,000 random flows at once and 7,000 after them on 30 racks of 20 nodes:
//
//	eps     on average   99 of 100 at most   999 of 1,000 at most   all at most
//	1e-4    0.0004 %     0.003 %             0.02 %                 0.08 %
//	1e-3    0.01 %       0.07 %              0.4 %                  1.6 %
//	1e-2    0.1 %        0.6 %               3 %                    120 %
//
// The last column is chance: a short flow overlaps another one that, in the exact result, has just ended.
//
// # Speed
//
// Processor time per flow, from start to end, by the number of random flows active on the same network, in microseconds
// (BenchmarkReplace, minimum of three runs on a busy machine with 2 cores):
//
//	active flows        100   1,000   5,000   20,000
//	exact                 4      18      21       25
//	eps 1e-3              4      13      11       11
//	eps 1e-2              4       6       4        6
//
// All to all between 30 nodes at one switch (BenchmarkShuffle), with 1,000 and with 10,000 active flows: 11 and 13 exactly,
// 4 and 1.3 with eps 1e-2. A thousand starts at one instant cost 1 to 2 each.
//
// Everything is deterministic: the same calls give the same results to the last bit.
package flow
