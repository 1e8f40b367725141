package hadoop

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"
)

// Options say what to bring up. The zero value of a field is its default.
type Options struct {
	Version string // of Hadoop; Default
	Dir     string // run folder: configuration, logs, records, data; must be given

	Scheduler    string // "capacity" (default) or "fair"
	SchedulerXML string // capacity-scheduler.xml or fair-scheduler.xml; default: the queues prod, batch and adhoc
	ConfStore    string // where the CapacityScheduler keeps its configuration: memory (default), file, fs, leveldb, zk

	Nodes      int           // NodeManagers; 3. The first half is in /rack-a, the rest in /rack-b
	NodeMB     int           // memory of each; 8192
	NodeVcores int           // 32
	Heartbeat  time.Duration // of the NodeManagers; 1 s

	HDFS     bool // a NameNode and a DataNode; MapReduce needs it
	History  bool // the history server of MapReduce; brings HDFS with it
	Timeline bool // the timeline server, which keeps every container's times

	Core, Site, HDFSSite, Mapred map[string]string // settings over those that the lab makes: core-, yarn-, hdfs- and mapred-site.xml

	Debug    []string // loggers (classes or packages) at DEBUG, in every daemon
	RMHeapMB int      // the ResourceManager's heap; 512
	NMHeapMB int      // a NodeManager's heap; 256

	Log io.Writer // told what happens; may be nil
}

// Loggers at DEBUG that make the ResourceManager's log tell every beat of a node and call of a master, and where each
// container is; see package rmlog.
var (
	DebugBeats = []string{rmPackage + "rmnode.RMNodeImpl", rmPackage + "scheduler.AbstractYarnScheduler"}
	DebugTicks = []string{rmPackage + "rmapp.attempt.RMAppAttemptImpl"}
	DebugPlace = []string{rmPackage + "scheduler.common.fica.FiCaSchedulerApp", rmPackage + "scheduler.fair.FSAppAttempt",
		rmPackage + "scheduler.fair.FSSchedulerNode"}
)

const rmPackage = "org.apache.hadoop.yarn.server.resourcemanager."

// maxNodes is how many loopback addresses are used at most; a machine is full long before.
const maxNodes = 200

// complete fills in the defaults and checks.
func (o Options) complete() (Options, error) {
	o.Version, o.Scheduler, o.Heartbeat, o.Log = cmp.Or(o.Version, Default), cmp.Or(o.Scheduler, "capacity"), cmp.Or(o.Heartbeat, time.Second), cmp.Or(o.Log, io.Discard)
	o.Nodes, o.NodeMB, o.NodeVcores = cmp.Or(o.Nodes, 3), cmp.Or(o.NodeMB, 8192), cmp.Or(o.NodeVcores, 32)
	o.RMHeapMB, o.NMHeapMB = cmp.Or(o.RMHeapMB, 512), cmp.Or(o.NMHeapMB, 256)
	o.HDFS = o.HDFS || o.History
	switch o.Scheduler {
	case "capacity":
		o.ConfStore, o.SchedulerXML = cmp.Or(o.ConfStore, "memory"), cmp.Or(o.SchedulerXML, capacityXML)
	case "fair":
		if o.ConfStore != "" && o.ConfStore != "file" {
			return o, errors.New("the FairScheduler reads its configuration from a file only; leave the store out")
		}
		o.ConfStore, o.SchedulerXML = "file", cmp.Or(o.SchedulerXML, fairXML)
	default:
		return o, fmt.Errorf("there is no scheduler %q; choose capacity or fair", o.Scheduler)
	}
	stores := []string{"memory", "file", "fs", "leveldb", "zk"}
	switch {
	case o.Dir == "":
		return o, errors.New("a lab needs a run folder")
	case strings.ContainsAny(o.Dir, ":,; \t\n*"):
		return o, fmt.Errorf("the run folder %q has a character that Java's class path does not allow; choose another", o.Dir)
	case !slices.Contains(stores, o.ConfStore):
		return o, fmt.Errorf("there is no configuration store %q; choose one of %s", o.ConfStore, strings.Join(stores, ", "))
	case o.Nodes < 1 || o.Nodes > maxNodes:
		return o, fmt.Errorf("%d nodes: from 1 to %d are possible", o.Nodes, maxNodes)
	case o.Heartbeat < 10*time.Millisecond:
		return o, fmt.Errorf("a heartbeat of %v is shorter than 10 ms", o.Heartbeat)
	case o.NodeMB < 1 || o.NodeVcores < 1:
		return o, errors.New("a node needs memory and a vcore")
	}
	return o, nil
}

// userName is who the daemons run as, which makes them the superuser of HDFS and an administrator of YARN.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "yardmaster" // Hadoop is told the same name, so that the two agree
	}
	return u.Username
}
