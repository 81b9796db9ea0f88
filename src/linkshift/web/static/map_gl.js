// Points by WebGL2. What moves them (the view, shares of ways) are a few numbers a frame; positions
// and colours go to the graphics card only when they change.

import { RIM_MOST, rimOf } from "./map_view.js";

const VERTEX = `#version 300 es
layout(location = 0) in vec2 from;
layout(location = 1) in vec2 to;
layout(location = 2) in vec4 colourFrom;
layout(location = 3) in vec4 colourTo;
uniform vec2 middle, scale;
uniform float moved, turned, diameter;
out vec4 colour;
void main() {
  gl_Position = vec4((mix(from, to, moved) - middle) * scale, 0.0, 1.0);
  gl_PointSize = diameter + 1.0;
  colour = mix(colourFrom, colourTo, turned);
}`;

// A disc whose edge is smooth; large ones have a rim of the paper's colour, which keeps them apart.
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float diameter, alpha, rim;
uniform vec3 paper;
out vec4 drawn;
void main() {
  float away = length(gl_PointCoord - 0.5) * (diameter + 1.0);
  float radius = 0.5 * diameter;
  float cover = clamp(radius - away + 0.5, 0.0, 1.0);
  float edge = clamp(away - radius + rim + 0.5, 0.0, 1.0) * min(rim, ${RIM_MOST});
  float opacity = cover * alpha * colour.a;
  drawn = vec4(mix(colour.rgb, paper, edge) * opacity, opacity);
}`;

const UNIFORMS = ["middle", "scale", "moved", "turned", "diameter", "alpha", "rim", "paper"];
const OPTIONS = { alpha: true, antialias: false, depth: false, stencil: false };

export class GlPoints {
  /** Throws where there is no WebGL2. */
  constructor(canvas, cloud) {
    this.canvas = canvas;
    this.cloud = cloud;
    this.gl = canvas.getContext("webgl2", OPTIONS);
    if (!this.gl) throw new Error("no WebGL2");
    this.restore();
  }

  get isLost() {
    return this.gl.isContextLost();
  }

  /** Make all that lives on the graphics card, at first and after it was lost. */
  restore() {
    const { gl } = this;
    this.program = compiled(gl);
    this.at = Object.fromEntries(UNIFORMS.map((u) => [u, gl.getUniformLocation(this.program, u)]));
    this.array = gl.createVertexArray();
    this.buffers = [0, 1, 2, 3].map(() => gl.createBuffer());
    this.chosen = gl.createBuffer();
    this.placed = this.painted = this.marked = -1;
    gl.bindVertexArray(this.array);
    this.buffers.forEach((buffer, i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(i);
      if (i < 2) gl.vertexAttribPointer(i, 2, gl.FLOAT, false, 0, 0);
      else gl.vertexAttribPointer(i, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.chosen);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Draw a frame; never leaves anything for a next one. */
  draw(frame) {
    const { gl, at, cloud } = this;
    if (gl.isContextLost()) return false;
    this.#send(frame);
    const { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!cloud.n) return false;
    const scale = 2 * frame.view.scale * frame.ratio;
    gl.useProgram(this.program);
    gl.uniform2f(at.middle, frame.view.x, frame.view.y);
    gl.uniform2f(at.scale, scale / width, scale / height);
    gl.uniform1f(at.moved, frame.moved);
    gl.uniform1f(at.turned, frame.turned);
    gl.uniform3f(at.paper, ...frame.paper.map((c) => c / 255));
    this.#discs(frame.radius * frame.ratio, frame.alpha * frame.dimmed);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(frame.share * cloud.n)); // a sample: they are mixed
    if (frame.chosen.length) {
      this.#discs(Math.max(frame.radius * 1.15, 1.4) * frame.ratio, Math.max(frame.alpha, 0.9));
      gl.drawElements(gl.POINTS, frame.chosen.length, gl.UNSIGNED_INT, 0);
    }
    return false;
  }

  #discs(radius, alpha) {
    const { gl, at } = this;
    gl.uniform1f(at.diameter, 2 * radius);
    gl.uniform1f(at.alpha, alpha);
    gl.uniform1f(at.rim, rimOf(radius));
  }

  #send(frame) {
    const { gl, cloud } = this;
    gl.bindVertexArray(this.array);
    if (this.placed !== cloud.placed && cloud.n) {
      this.#fill(0, cloud.from);
      this.#fill(1, cloud.to);
      this.placed = cloud.placed;
    }
    if (this.painted !== cloud.painted && cloud.n) {
      this.#fill(2, cloud.colourFrom);
      this.#fill(3, cloud.colourTo);
      this.painted = cloud.painted;
    }
    if (this.marked !== frame.marked) {
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, frame.chosen, gl.STATIC_DRAW);
      this.marked = frame.marked;
    }
  }

  #fill(i, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[i]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.STATIC_DRAW);
  }

  destroy() {
    const { gl } = this;
    for (const buffer of [...this.buffers, this.chosen]) gl.deleteBuffer(buffer);
    gl.deleteVertexArray(this.array);
    gl.deleteProgram(this.program);
  }
}

function compiled(gl) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`the shaders of the map: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}
