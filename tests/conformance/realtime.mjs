// An unchanged centrifuge-js against a server: its whole story, told as JSON.
// realtime.mjs URL TOKEN NEXT_TOKEN: the address of the project, tokens of one user.
import { Centrifuge } from 'centrifuge'
import WebSocket from 'ws'

const [url, token, nextToken] = process.argv.slice(2)
const address = url.replace('http', 'ws') + '/~realtime'
const sockets = []
class Noted extends WebSocket {
  constructor(...given) { super(...given); sockets.push(this) }
}
const make = (more = {}) =>
  new Centrifuge(address, { websocket: Noted, minReconnectDelay: 20, maxReconnectDelay: 50, ...more })
const until = async (what) => {
  for (let turn = 0; !what(); turn++) {
    if (turn > 1500) throw new Error('it does not come true: ' + what)
    await new Promise((done) => setTimeout(done, 10))
  }
}
const say = (number) => ({ event: 'said', payload: { text: String(number) } })
const told = { got: [], joined: [], left: [], subscribed: [], refused: {}, ended: [] }

const ann = make()
const hall = ann.newSubscription('rooms/hall', { joinLeave: true })
hall.on('publication', ({ data }) => told.got.push(data.payload.text))
hall.on('join', ({ info }) => told.joined.push(info.chanInfo.room))
hall.on('leave', ({ info }) => told.left.push(info.chanInfo.room))
hall.on('subscribed', (one) => told.subscribed.push([one.wasRecovering, one.recovered]))
hall.subscribe()
ann.connect()
await hall.ready(5000)

const bob = make({ token, getToken: async () => nextToken })
const there = bob.newSubscription('rooms/hall')
there.subscribe()
bob.connect()
await there.ready(5000)
await there.publish(say(1))
await until(() => told.got.length === 1)
told.present = Object.keys((await there.presence()).clients).length
told.stats = (await there.presenceStats()).numClients
told.history = (await there.history({ limit: 10 })).publications.length

// refused, each in its way
for (const name of ['rooms/secret', 'members/one', 'nowhere']) {
  const one = ann.newSubscription(name)
  await new Promise((done) => {
    one.on('unsubscribed', ({ code }) => { told.refused[name] = code; done() })
    one.subscribe()
  })
}
try { await ann.publish('rooms/quiet', say(0)) } catch (error) { told.quiet = error.code }

// cut off: what is missed comes, once and in order
const before = told.subscribed.length
sockets[0].terminate()
for (const number of [2, 3, 4]) await there.publish(say(number))
await until(() => told.subscribed.length > before)
await there.publish(say(5))
await until(() => told.got.length === 5)

// the token of this connection ends soon: the client fetches another one, and stays
const tired = make({ token: process.argv[5], getToken: async () => { told.fetched = true; return nextToken } })
const seat = tired.newSubscription('rooms/seat')
let connects = 0
tired.on('connected', () => { connects += 1 })
seat.subscribe()
tired.connect()
await seat.ready(5000)
await until(() => told.fetched)
told.connects = connects

bob.disconnect()
await until(() => told.left.length === 1)
ann.on('disconnected', ({ code }) => { told.code = code })
ann.disconnect()
tired.disconnect()
console.log(JSON.stringify(told))
process.exit(0)
