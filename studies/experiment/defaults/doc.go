// Package defaults is a study of our own: the network-aware, hybrid and planning schedulers as they are shipped, against fair, delay, capacity and their former
// defaults, on the workloads that their pages recommend them for. Each experiment is a scenario, as an operator writes it.
package defaults
