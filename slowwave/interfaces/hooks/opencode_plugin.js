// Slowwave for OpenCode, written by `slowwave connect opencode` and removed by `slowwave disconnect opencode`.
// It hands events to the hook program and puts what that answers beside the prompt. It never stops OpenCode.
import { spawn } from "node:child_process"

const command = ["COMMAND"]
const home = "HOME"
const most = 200 // messages that are handed over at once; those before were handed over at earlier pauses
const longest = 5000 // milliseconds that the end of OpenCode waits for what is being handed over
const sent = new Map() // length of each message that the server took, by its id

function call(event, payload) {
  return new Promise((resolve) => {
    let told = ""
    try {
      const [program, ...words] = [...command, "opencode", event, "--home", home]
      const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] })
      const limit = setTimeout(() => child.kill(), longest)
      child.on("error", () => resolve(""))
      child.on("close", () => {
        clearTimeout(limit)
        resolve(told)
      })
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (told += part))
      child.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }))
    } catch {
      resolve("")
    }
  })
}

function contextOf(told) {
  try {
    return JSON.parse(told).hookSpecificOutput?.additionalContext || ""
  } catch {
    return ""
  }
}

function isTaken(told) {
  try {
    return JSON.parse(told).recorded === true
  } catch {
    return false
  }
}

// the assistant's questions to the person, which are parts of its message, as the answers are
const isAnswered = (part) => part.type === "tool" && part.tool === "question" && part.state?.status === "completed" && part.state.metadata?.answers?.length

function asked({ question, options }) {
  return options?.length ? `${question} (${options.map(({ label }) => label).join(", ")})` : question
}

function textOf(parts) {
  const said = parts.filter((part) => (part.type === "text" && !part.synthetic && !part.ignored) || isAnswered(part))
  return said.map((part) => part.text ?? (part.state.input?.questions || []).map(asked).join("\n")).join("\n\n")
}

function saidIn({ info, parts }) {
  const answers = (parts || []).filter(isAnswered).map(({ callID, state }) => ({
    id: callID, role: "user", time: { created: state.time?.end }, content: state.metadata.answers.map((given) => given.join(", ")).join("\n"),
  }))
  return [{ id: info.id, role: info.role, time: { created: info.time?.created }, content: textOf(parts || []) }, ...answers]
}

export const Slowwave = async ({ client, directory }) => {
  const started = new Set()
  const running = new Set()
  const about = (id) => ({ session_id: id, cwd: directory })

  async function finished(work) {
    running.add(work)
    await work
    running.delete(work)
  }

  async function record(event, id) {
    try {
      const which = { path: { id } }
      const [session, found] = await Promise.all([client.session.get(which), client.session.messages(which)])
      if (!id || session.data?.parentID) return // a sub-agent's
      const said = (found.data || []).slice(-most).flatMap(saidIn)
      const messages = said.filter(({ id, content }) => content && sent.get(id) !== content.length)
      if (!messages.length) return
      const told = await call(event, { ...about(id), messages })
      if (isTaken(told)) messages.forEach((message) => sent.set(message.id, message.content.length))
    } catch {
      return
    }
  }

  return {
    "chat.message": async ({ sessionID }, output) => {
      const prompt = textOf(output.parts)
      const last = output.parts[output.parts.length - 1]
      if (!prompt || !last) return
      const asked = about(sessionID)
      const told = []
      if (!started.has(sessionID)) {
        started.add(sessionID)
        told.push(await call("SessionStart", { ...asked, source: "startup" }))
      }
      told.push(await call("UserPromptSubmit", { ...asked, prompt }))
      const text = told.map(contextOf).filter(Boolean).join("\n\n")
      if (!text) return
      const { id, sessionID: owner, messageID } = last
      output.parts.push({ id: `${id}slowwave`, sessionID: owner, messageID, type: "text", text, synthetic: true })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await finished(record("Stop", event.properties?.sessionID))
      if (event.type === "session.compacted") await finished(record("PreCompact", event.properties?.sessionID))
      if (event.type === "session.deleted") {
        const id = event.properties?.info?.id
        started.delete(id)
        if (id) await finished(call("SessionEnd", { ...about(id), reason: "other" }))
      }
    },
    dispose: async () => {
      const ended = Promise.all(running).then(() => // `opencode run` ends right behind its last answer
        Promise.all([...started].map((id) => call("SessionEnd", { ...about(id), reason: "exit" }))))
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, longest).unref())])
    },
  }
}
