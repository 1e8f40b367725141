// Package flow shares a network's links among the flows that cross them, max-min fairly, and says when each flow is finished.
//
// A flow is a path of links and a number of bytes. Nothing is said of packets: at any instant each flow has a rate, and
// rates change only when a flow starts or ends or a capacity changes.
package flow
