package flow

// LoosenAfter sets how often rates are settled before links are let loose.
func (n *Network) LoosenAfter(times int) { n.loosenAfter = times }

// Classes is the number of classes ever needed at once, Bundles that of bundles.
func (n *Network) Classes() int { return len(n.class) }
func (n *Network) Bundles() int { return len(n.bundle) }
