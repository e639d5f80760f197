// Slowwave for OpenCode, written by `slowwave connect opencode` and removed by `slowwave disconnect opencode`.
// It hands events to the hook program and puts what that answers beside the prompt. It never stops OpenCode.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const command = ["COMMAND"]
const home = "HOME"
const transcripts = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "opencode.db")

function call(event, payload) {
  return new Promise((resolve) => {
    let told = ""
    try {
      const [program, ...words] = [...command, "opencode", event, "--home", home]
      const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] })
      const limit = setTimeout(() => child.kill(), 5000)
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

function textOf(parts) {
  return parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n")
}

export const Slowwave = async ({ directory }) => {
  const started = new Set()
  const about = (id) => ({ session_id: id, cwd: directory, transcript_path: transcripts })

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
      if (event.type === "session.idle") await call("Stop", about(event.properties?.sessionID))
      if (event.type === "session.compacted") await call("PreCompact", about(event.properties?.sessionID))
      if (event.type === "session.deleted") {
        const id = event.properties?.info?.id
        if (id) await call("SessionEnd", { ...about(id), reason: "other" })
      }
    },
  }
}
