package input

// Names numbers the names that a record repeats, such as those of hosts, in the order in which they first appear. Its zero value is ready for use.
type Names struct {
	List  []string
	index map[string]int32
	bytes int
}

// Index numbers a name. It is false for a new one beyond either limit.
func (n *Names) Index(name string, maxNames, maxBytes int) (int32, bool) {
	k, known := n.index[name]
	if known {
		return k, true
	}
	if n.bytes += len(name); len(n.List) >= maxNames || n.bytes > maxBytes {
		return 0, false
	}
	if n.index == nil {
		n.index = map[string]int32{}
	}
	k = int32(len(n.List))
	n.List = append(n.List, name)
	n.index[name] = k
	return k, true
}
