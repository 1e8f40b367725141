package yardstick

import (
	"bytes"
	"fmt"
	"math"
)

const packetsIntro = `
## Packets: what a fluid leaves out

A shuffle of %d nodes, each with something for each other (%d flows, %.1f MB in the mean, uneven), in ns-3 with
packets and TCP and in the flow network. Nodes have 1 Gbit/s. "Star" is one switch; "two racks" are ten nodes each
with 2 Gbit/s between a rack and the core, a fifth of what its nodes can send. Either everything starts at once, or a node fetches
from five others at a time, as Hadoop's copiers do. A port of a switch has room for 100 packets (150 kB, a plain top-of-rack switch) or 1,000.

TCP is Cubic with SACK and timestamps, segments of %d bytes, ten segments at first, buffers of 512 KB, timers of at
least 200 ms (1 s for the first packet of a connection) and acknowledgements delayed by at most 40 ms, as Linux has them; links
have 5 µs. A segment takes %d bytes of an Ethernet, so %.1f %% of a link is data: "fluid" below has links of
that capacity, "whole links" are links as they are named.

A flow alone:

| run | bytes | fluid, whole links | fluid | packets | packets over fluid |
|---|---|---|---|---|---|
`

const packetsTable = `
All to all. "Last end" is in seconds; the rest compares packets with fluid:

| run | network | fetches | room of a port | last end: whole links | fluid | packets | last end, ratio | ends of flows: median, 5 % to 95 % | of flows that met no timer: median | last end of a receiver, mean | flows that met a timer | packets dropped | Jain's index: fluid, packets |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

func writePackets(b *bytes.Buffer, facts []packetFacts, dir string) {
	share := float64(segment) / onTheWire
	var singles, shuffles []packetFacts
	for _, f := range facts {
		if len(f.Flows) == 1 {
			singles = append(singles, f)
		} else {
			shuffles = append(shuffles, f)
		}
	}
	mean := 0.0
	for _, x := range shuffles[0].Flows {
		mean += float64(x.Bytes) / float64(len(shuffles[0].Flows)) / 1e6
	}
	fmt.Fprintf(b, packetsIntro, shuffles[0].Nodes, len(shuffles[0].Flows), mean, segment, onTheWire, 100*share)
	for _, f := range singles {
		fmt.Fprintf(b, "| %d | %d | %.5f s | %.5f s | %.5f s | %.3f |\n", f.run, f.Flows[0].Bytes, f.whole, f.fluid, f.packets, f.packets/f.fluid)
	}
	fmt.Fprint(b, packetsTable)
	for i := range shuffles {
		f := &shuffles[i]
		fmt.Fprintf(b, "| %d | %s | %s | %d | %.3f | %.3f | %.3f | %.2f | %.2f, %.2f to %.2f | %.2f | %.2f | %d of %d | %d | %.2f, %.2f |\n", f.run, f.network(), f.fetches(), f.Queue,
			f.whole, f.fluid, f.packets, f.packets/f.fluid, median(f.ends), quantile(f.ends, 0.05), quantile(f.ends, 0.95),
			median(f.untimed), f.receivers, f.waited, len(f.Flows), f.Drops, f.fairnessFluid, f.fairnessPackets)
	}
	fmt.Fprintf(b, "\n![Ends of the flows, packets against fluid](%s/%s)\n", dir, pictureName)
	writeLessons(b, singles, shuffles, share)
	fmt.Fprintf(b, "\nAll ns-3 runs together took %.0f s of processor time; ours of the same shuffles take milliseconds.\n", took(facts))
}

func took(facts []packetFacts) float64 {
	sum := 0.0
	for _, f := range facts {
		sum += f.Took
	}
	return sum
}

func (f *packetFacts) network() string {
	if f.Racks > 1 {
		return "two racks"
	}
	return "star"
}

func (f *packetFacts) fetches() string {
	if f.Copiers > 0 {
		return fmt.Sprintf("%d at a time", f.Copiers)
	}
	return "all at once"
}

// writeLessons says in words what the figures say; the figures come from the runs.
func writeLessons(b *bytes.Buffer, singles, shuffles []packetFacts, share float64) {
	least, most := math.Inf(1), 0.0
	lastLeast, lastMost := math.Inf(1), 0.0
	medianLeast, medianMost := math.Inf(1), 0.0
	timers := map[int]int{}
	flows := map[int]int{}
	undone, unheard := 0, 0
	below, above := 0.0, 0.0 // of Jain's index
	for i := range shuffles {
		f := &shuffles[i]
		least, most = min(least, median(f.untimed)), max(most, median(f.untimed))
		lastLeast, lastMost = min(lastLeast, f.packets/f.fluid), max(lastMost, f.packets/f.fluid)
		medianLeast, medianMost = min(medianLeast, median(f.ends)), max(medianMost, median(f.ends))
		below, above = min(below, f.fairnessPackets-f.fairnessFluid), max(above, f.fairnessPackets-f.fairnessFluid)
		timers[f.Queue] += f.waited
		flows[f.Queue] += len(f.Flows)
		undone, unheard = undone+f.undone, unheard+f.unheard
	}
	small, large := &singles[0], &singles[len(singles)-1]
	fmt.Fprintf(b, `
Where they differ:

- **Headers.** %.1f %% of a link is data. A flow network with the links' names for capacities is early by %.1f %%; one with this factor is right
  for a long flow alone: %.1f MB take %.2f %% longer in packets. A model should lower its links by the factor.
- **Slow start.** A flow alone of %.1f MB takes %.0f %% longer: it starts with ten segments and doubles each round trip. On links with microseconds of
  delay that is over within a millisecond.
- **Timers.** %.0f %% of the flows met a retransmission timer at least once where ports have room for 100 packets, %.0f %% where they
  have room for 1,000. Each costs 200 ms and more, in a shuffle of about a second. That is incast: many senders to one port, and a flow
  whose last segments are lost has nothing behind them that would tell the receiver. At least %d flows lost the first packet of their
  connection, which costs a second.
- **The last flow.** It ends %.2f to %.2f times as late as in the fluid; a single unlucky flow decides that. What a shuffle of
  minutes would see of these timers was not measured.
- **The middle.** The median flow ends at %.2f to %.2f of the fluid's instant; of those that met no timer the median is %.2f to %.2f. While some
  wait for timers, others have their share. Jain's index of the rates of a receiver's flows is up to %.2f below the fluid's and up to
  %.2f above it.
`, 100*share, 100*(1-share), float64(large.Flows[0].Bytes)/1e6, 100*(large.packets/large.fluid-1),
		float64(small.Flows[0].Bytes)/1e6, 100*(small.packets/small.fluid-1),
		100*float64(timers[100])/float64(flows[100]), 100*float64(timers[1000])/float64(flows[1000]), unheard,
		lastLeast, lastMost, medianLeast, medianMost, least, most, -below, above)
	if undone > 0 {
		fmt.Fprintf(b, "- %d flows had not ended when ns-3 was stopped, after %d simulated seconds.\n", undone, simulatedLimit)
	}
}
