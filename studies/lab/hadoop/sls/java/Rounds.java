package yardmaster;

import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;

/** The unchanged preemption monitor, logging its rounds. */
public class Rounds extends ProportionalCapacityPreemptionPolicy {
  @Override
  public synchronized void editSchedule() {
    boolean in = Watch.enter();
    try {
      Watch.say("round");
      super.editSchedule();
      Watch.say("over");
    } finally {
      Watch.leave(in);
    }
  }
}
