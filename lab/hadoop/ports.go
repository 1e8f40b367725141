package hadoop

import (
	"fmt"
	"net"
	"strconv"
)

// portNames has every port that a configuration names. Nodes use the same number on different addresses.
var portNames = []string{"rm-client", "rm-scheduler", "rm-tracker", "rm-admin", "rm-web", "nm", "nm-localizer", "nm-web",
	"nm-collector", "namenode-rpc", "namenode-web", "datanode", "datanode-web", "datanode-ipc", "history-rpc", "history-admin",
	"history-web", "timeline-rpc", "timeline-web"}

type ports map[string]int

// freePorts asks the kernel for as many ports as there are names, each free on every address, all different.
func freePorts() (ports, error) {
	list, err := Ports(len(portNames))
	if err != nil {
		return nil, err
	}
	p := ports{}
	for i, name := range portNames {
		p[name] = list[i]
	}
	return p, nil
}

// Ports asks the kernel for n different ports that are free on every address.
func Ports(n int) ([]int, error) {
	var list []int
	for range n {
		l, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			return nil, fmt.Errorf("asking for a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all are held until the last is found
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list, nil
}

// At is a port of the master's address, Here one of whichever node reads it.
func (p ports) At(name string) string { return net.JoinHostPort(master, strconv.Itoa(p[name])) }
func (p ports) Here(name string) string {
	return "${env." + hostVariable + ":-" + master + "}:" + strconv.Itoa(p[name])
}
