package yard

// Actuator is the way by which the knob is turned: one of Actuators but auto, or "none".
func (y *Yard) Actuator() string {
	switch y.act.(type) {
	case *restActuator:
		return REST
	case *capacityFile:
		return CapacityFile
	case *fairFile:
		return FairFile
	}
	return "none"
}
