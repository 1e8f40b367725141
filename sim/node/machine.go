package node

import (
	"fmt"
	"math"
)

// DiskSpec describes a disk. Reads and writes share it: its unit is a byte read, and all other work is converted to that.
type DiskSpec struct {
	Read, Write         float64    // bytes per second
	ReadSeek, WriteSeek float64    // seconds per request
	Efficiency          Efficiency // of the disk as a whole with n requests on it; nil: 1
}

// Disk is a device with one server and the costs of reads and writes.
type Disk struct {
	*Device
	spec DiskSpec
}

// NewDisk makes an idle disk.
func NewDisk(s DiskSpec) *Disk {
	return &Disk{Device: NewDevice(Spec{Rate: s.Read, Servers: 1, Efficiency: s.Efficiency}), spec: s}
}

// ReadUnits is the cost of reading bytes in one request; 0 for no bytes.
func (k *Disk) ReadUnits(bytes float64) float64 {
	if !(bytes > 0) {
		return 0
	}
	return bytes + k.spec.ReadSeek*k.spec.Read
}

// WriteUnits is the cost of writing bytes in one request.
func (k *Disk) WriteUnits(bytes float64) float64 {
	if !(bytes > 0) {
		return 0
	}
	return bytes*k.spec.Read/k.spec.Write + k.spec.WriteSeek*k.spec.Read
}

// Falling is the efficiency of a disk whose heads move between streams: eff(n) = 1/(1+a*(n-1)).
func Falling(a float64) Efficiency {
	return func(n int) float64 { return 1 / (1 + a*float64(n-1)) }
}

// Switching is the efficiency of a disk that serves its streams in turn, one request each, and loses the time of cost requests whenever
// the next one is of another stream, as it is n-1 times in n: eff(n) = 1/(1+cost*(n-1)/n). It tends to 1/(1+cost) for many streams.
func Switching(cost float64) Efficiency {
	return func(n int) float64 { return 1 / (1 + cost*(1-1/float64(n))) }
}

// SwitchingCost is the argument of Switching for a disk with a rate in bytes per second, a seek time in seconds and a request size in
// bytes.
func SwitchingCost(rate, seek, request float64) float64 { return seek * rate / request }

// Threads is the efficiency of processors whose cores have two threads: each core does gain times as much with both threads busy as
// with one. The machine has twice as many processors as cores.
func Threads(cores int, gain float64) Efficiency {
	c := float64(cores)
	return func(n int) float64 {
		busy := min(float64(n), 2*c)
		return (min(busy, c) + max(0, busy-c)*(gain-1)) / busy
	}
}

// Table is a measured efficiency: the first value is for one task, the last for all larger numbers.
func Table(values ...float64) Efficiency {
	if len(values) == 0 {
		return nil
	}
	return func(n int) float64 { return values[min(n, len(values))-1] }
}

// Memory is the memory that a machine may reserve for its tasks. The zero value has no limit.
//
// A task never waits for memory: it takes what is left, but at least its floor, and a smaller buffer fills and spills more
// often. So memory can slow tasks down but cannot make them wait for each other.
type Memory struct {
	Limit float64 // bytes; 0: no limit
	taken float64
}

// Take reserves up to want bytes, and at least floor, whatever is left. The caller must Give back what it returns.
func (m *Memory) Take(want, floor float64) float64 {
	got := want
	if m.Limit > 0 {
		got = max(min(want, m.Limit-m.taken), min(floor, want))
	}
	m.taken += got
	return got
}

// Give releases a reservation.
func (m *Memory) Give(bytes float64) { m.taken = max(0, m.taken-bytes) }

// Taken is the number of bytes reserved.
func (m *Memory) Taken() float64 { return m.taken }

// MachineSpec describes one machine.
type MachineSpec struct {
	Hertz float64 // cycles per second of a core
	Cores int
	// Efficiency of the cores with n tasks; nil: 1.
	Efficiency Efficiency
	Disks      int // identical; 0: 1
	Disk       DiskSpec
	Memory     float64 // bytes for tasks; 0: no limit
	Space      Space
}

// Space is the total space on a machine's disks.
type Space struct {
	Capacity float64 // bytes; 0: no limit
	Filled   float64 // bytes used before the first task
	Healthy  float64 // share of the capacity beyond which the machine's nodes get no containers; 0: all of it
}

// Limit is the max used bytes at which nodes still get containers; 0: no limit.
func (s *Space) Limit() float64 {
	if s.Healthy == 0 {
		return s.Capacity
	}
	return s.Capacity * s.Healthy
}

func (s *Space) validate() error {
	switch {
	case !(s.Capacity >= 0 && s.Capacity <= maxRate && s.Filled >= 0 && s.Filled <= maxRate):
		return fmt.Errorf("disks of %v bytes with %v bytes on them", s.Capacity, s.Filled)
	case !(s.Healthy >= 0 && s.Healthy <= 1):
		return fmt.Errorf("a disk is healthy up to %v of its capacity: that is between 0 and 1", s.Healthy)
	case s.Capacity > 0 && s.Filled >= s.Limit():
		return fmt.Errorf("%v of the %v bytes that a machine's disks may hold are taken from the start: no task could run", s.Filled, s.Limit())
	}
	return nil
}

// Limits on a machine.
const (
	MaxCores = 1 << 16
	MaxDisks = 1 << 10
	maxRate  = 1e18
)

// Validate reports the first invalid value.
func (s *MachineSpec) Validate() error {
	switch {
	case !(s.Hertz > 0 && s.Hertz <= maxRate) || s.Cores < 1 || s.Cores > MaxCores:
		return fmt.Errorf("a machine with %d cores of %v cycles/s: both must be positive, and the cores at most %d", s.Cores, s.Hertz, MaxCores)
	case s.Disks < 0 || s.Disks > MaxDisks:
		return fmt.Errorf("a machine with %d disks: at most %d", s.Disks, MaxDisks)
	case !(s.Disk.Read > 0 && s.Disk.Read <= maxRate && s.Disk.Write > 0 && s.Disk.Write <= maxRate):
		return fmt.Errorf("a disk that reads %v and writes %v bytes/s: both must be positive", s.Disk.Read, s.Disk.Write)
	case !(s.Disk.ReadSeek >= 0 && s.Disk.ReadSeek <= 3600 && s.Disk.WriteSeek >= 0 && s.Disk.WriteSeek <= 3600):
		return fmt.Errorf("seeks of %v s and %v s: neither may be negative or longer than an hour", s.Disk.ReadSeek, s.Disk.WriteSeek)
	case !(s.Memory >= 0) || math.IsInf(s.Memory, 0):
		return fmt.Errorf("%v bytes of memory for tasks", s.Memory)
	}
	return s.Space.validate()
}

// Machine is the devices of one machine.
type Machine struct {
	CPU    *Device
	Disks  []*Disk
	Memory Memory
}

// New makes an idle machine from a valid description.
func New(s MachineSpec) *Machine {
	m := &Machine{
		CPU:    NewDevice(Spec{Rate: s.Hertz, Servers: s.Cores, Efficiency: s.Efficiency}),
		Memory: Memory{Limit: s.Memory},
	}
	for range max(s.Disks, 1) {
		m.Disks = append(m.Disks, NewDisk(s.Disk))
	}
	return m
}

// DiskFor is the number of the disk that holds the data of key. Data must be read from the disk it was written to, so the disk
// follows from what is stored (by hash) and not from which one is idle.
func DiskFor(key uint64, disks int) int {
	if disks <= 1 {
		return 0
	}
	return int((key >> 32) * uint64(disks) >> 32)
}
