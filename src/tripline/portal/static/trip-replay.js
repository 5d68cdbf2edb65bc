// Replays a trip by clock time: 1 to 64 times as fast, until it is paused or ends.

export class Replay {
  /** `moved(at, place)` is called with the instant and the place of the sample before it. */
  constructor(track, moved, stopped) {
    this.track = track;
    this.moved = moved;
    this.stopped = stopped;
    this.pace = 8;
    this.running = false;
  }

  play() {
    if (this.track.moment >= this.track.length - 1) this.track.show(0, "replay");
    this.running = true;
    this.at = this.track.times[this.track.moment];
    this.last = performance.now();
    requestAnimationFrame((now) => this.#step(now));
  }

  pause() {
    this.running = false;
    this.stopped();
  }

  /** Continue from a moment that was chosen elsewhere. */
  from(place) {
    this.at = this.track.times[place];
  }

  #step(now) {
    if (!this.running) return;
    this.at += Math.max(now - this.last, 0) * this.pace;
    this.last = now;
    const end = this.track.times.at(-1);
    const at = Math.min(this.at, end);
    let place = this.track.near(at);
    if (this.track.times[place] > at && place > 0) place -= 1;
    this.moved(at, place);
    if (at >= end) this.pause();
    else requestAnimationFrame((later) => this.#step(later));
  }
}
