package flow

// LoosenAfter sets how often rates are settled before links are let loose.
func (n *Network) LoosenAfter(times int) { n.loosenAfter = times }
