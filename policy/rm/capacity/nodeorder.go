package capacityrm

import "github.com/yardmaster/yardmaster/policy/rm"

// place is where a node stands in Hadoop's hash map of an application's reservations, which is walked from the front when
// one has to be given back (FiCaSchedulerApp.getNodeIdToUnreserve): its bucket, by the hash of NodeId over host and port,
// spread as HashMap does. There are 16 buckets up to twelve reservations of one priority; more are not told apart here.
func place(n *rm.Node) uint32 {
	const prime = 493217
	var host int32 // as String.hashCode; names of hosts are plain letters
	for i := range len(n.Name) {
		host = 31*host + int32(n.Name[i])
	}
	first := int32(8501)
	h := uint32(prime*(prime*first+host) + n.Port)
	return (h ^ h>>16) & 15
}
