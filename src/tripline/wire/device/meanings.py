"""The meanings of devices' messages and their keys, in words: the source of every page that explains them.

Source: spec/device-messages 5 and 6.
"""

from typing import Final, NamedTuple

from tripline.wire.device import tables as device_tables

TITLES: Final = {
    1: "GPS trip",
    2: "GPS microtrip",
    3: "OBD trip",
    4: "OBD microtrip",
    5: "ADAS trip",
    6: "ADAS microtrip",
    7: "Black box trip",
    8: "Black box microtrip",
    9: "Driving tag or tachograph trip",
    10: "Driving tag or tachograph microtrip",
    11: "In-dash unit trip",
    12: "In-dash unit microtrip",
    101: "Trouble codes",
    102: "Collision while driving",
    103: "Collision while parked",
    104: "Battery warning",
    105: "Unplugged",
    106: "Turned off",
    107: "ADAS event",
    108: "Black box booted",
    109: "Black box changed its mode",
    110: "Black box settings",
    111: "Black box uploaded a picture",
    112: "Black box alarm",
    113: "Emergency call",
    114: "G-sensor, or event of an in-dash unit",
    115: "Cheating",
    116: "Cold start",
}
"""Message number -> title."""

_MEANINGS: Final = """
acx      | "-12"           | acceleration along the vehicle, -1000 to +1000
acy      | "40"            | acceleration across the vehicle, -1000 to +1000
alt      | 12.4            | altitude, metres
aspvc    | 1               | setting: volume of the ADAS speaker
auth     | 1               | authentication information of the device
bfwv     | "2.0.1"         | firmware version of the black box
bnm      | "BB-100"        | model name of the black box
boot     | 1               | setting: picture-in-picture at boot
brk      | 0               | brake: 0 not pressed, 1 pressed
bsg      | 0               | brake: 0 off, 1 on
btv      | 12.4            | battery voltage after the ignition was turned off, volts
cam      | 0               | parking-enforcement camera: 0 none, 1 present
cdit     | 1200            | distance of the trip so far, metres
cdlt     | 1200            | another name of `cdit`
chbrk    | 0               | check of the brake: 0 good, 1 fault
chcmr    | 0               | check of the camera: 0 good, 1 fault
chdir    | 0               | check of the indicators: 0 good, 1 left fault, 2 right fault, 3 both faulty
cht      | 1               | value recognised as cheating
clt      | 1735689600000   | time of the sample or event at the device, epoch milliseconds
coe      | 210.5           | carbon emission; the unit is the device's
crst     | 0               | setting: reset of the settings
ctime    | 90              | cold start, seconds
ctp      | 84              | mean temperature of the coolant, degrees Celsius
cutm     | 70              | setting: cut-off temperature of the power while parked
cutpl    | 70              | setting: cut-off temperature of the display while parked
cutps    | 70              | setting: cut-off temperature of the system while parked
cutt     | 12              | setting: time after which power is cut while parked
cuv      | 118             | setting: cut-off voltage of the power while parked
dCWlat   | 37.51221        | another name of `dclat`
dCWlon   | 127.041877      | another name of `dclon`
datc     | 0               | setting: date and time
dclat    | 37.51221        | latitude of the collision, degrees (WGS84)
dclon    | 127.041877      | longitude of the collision, degrees (WGS84)
dcs      | 3               | setting: sensitivity to collisions while driving
dctr     | 120400          | cumulative distance; the unit is the device's
did      | "D-17"          | code of the driver
dir      | 30              | direction indicator: 30 none, 31 left, 32 right, 33 hazard
dis      | 5120            | distance of the trip, metres; to be left out when it is not exact
dmid     | "TG-2"          | model of the recorder
door     | 0               | door: 0 closed, 1 open, 2 communication fault, 3 reserved
dop      | 1.1             | dilution of precision (NMEA)
drmc     | 0               | setting: recording while driving
dtcc     | "P0123,P0456"   | trouble codes, separated by commas
dtck     | 0               | kind of the codes: 0 confirmed, 1 pending, 2 permanent
dtcs     | 2               | number of codes
dtr      | 45              | distance of the day; the unit is the device's
dtvt     | 1800            | driving time; the unit is the device's
edlat    | 35.20121        | latitude at the end, degrees (WGS84)
edlon    | 129.08822       | longitude at the end, degrees (WGS84)
edt      | 1735691400000   | end of the trip, epoch milliseconds
el       | 34              | engine load, percent
em       | "28"            | manoeuvres of the period, two hexadecimal digits: 01 start, 02 left turn, 04 right turn, \
08 U-turn, 10 deceleration, 20 acceleration, 40 stop
est      | 600             | time driven at 80 to 100 km/h; the unit is the device's
fc       | 390             | fuel used; the unit is the device's
fct      | 12              | time driven with the fuel cut; the unit is the device's
fcw      | 30              | forward collision warning: 30 none, 31 vehicle in the path, 32 safe distance not kept
fcw@107  | 32              | forward collision warning: 30 none, 31 danger, 32 safe distance not kept
fcwb     | 1               | setting: sound of the forward collision warning
fcws     | 1               | setting: forward collision warning
fcws@112 | 850             | gap to the vehicle ahead, centimetres (alarm 14)
fmode    | 0               | setting: picture mode of the front camera
fms      | 2               | setting: sensitivity to motion in front
fntbr    | 2               | setting: brightness of the front camera at night
fnv      | 1               | setting: night vision of the front camera
fqual    | 2               | setting: video quality of the front camera
fsharp   | 2               | setting: sharpness of the front camera
fvs      | 2               | setting: sensitivity to the start of the vehicle in front
fvsa     | 1               | setting: alarm when the vehicle in front starts
fvwb     | 1               | setting: sound of that alarm
fwv      | "1.4.2"         | firmware version of the device
gag      | 181             | another name of `gan`
gan      | 181             | heading, degrees from true north, 0 to 359
gnv      | 14.1            | highest voltage of the alternator while driving, volts
gr       | 3               | gear: 0 neutral, 1, 2, 3 and so on
gvl      | 2.4             | g value that was recognised
hdw      | 24              | distance to the vehicle ahead, metres
hsts     | 88              | highest speed, km/h
idt      | 120             | idling time; the unit is the device's
kind     | 1               | picture: 0 while parked, 1 impact while parked, 2 strong impact while driving, \
3 video of an impact while parked
laoc     | 0               | setting: display always on
lat      | 35.157731       | latitude, degrees (WGS84)
lbr      | 3               | setting: brightness of the display
lc       | 5               | accuracy of the position; the unit is the device's
ldsl     | 2               | setting: sensitivity of the lane departure warning to the left
ldsr     | 2               | setting: sensitivity of the lane departure warning to the right
ldw      | 30              | lane departure warning: 30 none, 31 left, 32 right
ldwb     | 1               | setting: sound of the lane departure warning
ldws     | 1               | setting: lane departure warning
ldws@112 | 30              | how far the vehicle left its lane, centimetres (alarms 12 and 13)
led      | 1               | setting: security light
lld      | 80              | distance to the lane's left edge, centimetres
loff     | 0               | setting: live view
lon      | 129.059114      | longitude, degrees (WGS84)
marc     | 0               | setting: allocation of the memory
menu     | 0               | setting: menu always visible
mesp     | 41              | mean speed, km/h
mff      | 0               | setting: format of the memory
mfwv     | "1.1.0"         | firmware version of the module
mic      | 2               | setting: volume of the microphone
mod      | 1               | new mode: 0 driving, 1 parking, 2 off, 3 on
nos      | 9               | number of satellites (NMEA)
odo      | 88412           | odometer; the unit is the device's
parke    | 1               | setting: parking mode
pclat    | 37.51221        | another name of `plat`
pclon    | 127.041877      | another name of `plon`
pcs      | 3               | setting: sensitivity to collisions while parked
pet      | 0               | setting: timer of the detection of impacts while parked
plat     | 37.51221        | latitude of the collision, degrees (WGS84)
plon     | 127.041877      | longitude of the collision, degrees (WGS84)
pmc      | 0               | motions while parked
prmc     | 0               | setting: recording while parked
psc      | 1               | impacts while parked
pt       | 1735687600000   | time of attachment, epoch milliseconds
rgr      | 0               | reverse gear: 0 off, 1 on
rld      | 75              | distance to the lane's right edge, centimetres
rms      | 2               | setting: sensitivity to motion behind
rntbr    | 2               | setting: brightness of the rear camera at night
rpm      | 1830            | engine speed, revolutions a minute
rprec    | 1               | setting: recording of the rear camera while parked
rqual    | 2               | setting: video quality of the rear camera
rs       | "low battery"   | reason, in free words
rssi     | 977             | strength of the signal; the unit is the device's
saac     | 0               | setting: safe-driving helper
sac      | 0               | setting: field of view
sas      | 12              | angle of the steering wheel, degrees, 0 to 360
sdupt    | 0               | setting: update of the safe-driving helper
sfwv     | "0.9.3"         | firmware version of the safe-driving helper
sp       | 38              | speed, km/h
spk      | 2               | setting: volume of the speaker
stlat    | 35.157731       | latitude at the start, degrees (WGS84)
stlon    | 129.059114      | longitude at the start, degrees (WGS84)
stt      | 1735689600000   | start of the trip, epoch milliseconds
tdis     | 88412000        | total distance of the vehicle, metres
tdis@2   | 21              | distance moved during this microtrip, metres
tem      | 24              | temperature in the cabin, degrees Celsius
tid      | 41              | number of the trip, counted by the device
tim      | 1735689600000   | time of the event, epoch milliseconds
tim@8    | 600             | how long it has been parked, or may be; the unit is the device's
tlds     | 1               | setting: notice of traffic lights
tm       | 1735689600000   | time of the event, epoch milliseconds
tmp      | 21              | temperature, degrees Celsius; several are separated by commas
tploc    | "front,rear"    | where each temperature sensor is, separated by commas
tpos     | 18              | position of the accelerator, percent
tripId   | 41              | another name of `tid`
try      | 1               | kind of trip: 1 driving, 2 parking; parking is stored and not scored
unpt     | 1735684000000   | time of removal, epoch milliseconds
url      | "ftp://pictures.example/1.jpg" | address of the uploaded file
usm      | "010-0000-0000" | number of the telephone connected by Bluetooth
vbid     | "B-22"          | number of the transport business
vcat     | 2               | category of the vehicle
vcc      | 0               | setting: kind of vehicle
vin      | "KMHXX00XXXX000000" | vehicle identification number
vlt      | 12.6            | voltage of the vehicle's battery, volts
vrid     | "12A3456"       | registration number of the vehicle
vv       | 12.7            | voltage of the battery, volts
wbv      | 11.2            | voltage of the battery, volts
wid      | 0               | alarm: 0 impact while parked, 1 strong impact while driving, 2 dangerous driving, 3 low \
battery while parked, 4 high temperature while parked, 5 emergency recording, 6 to 9 power off while parked (voltage, \
temperature, time, by app), 10 power key, 11 accessory power off, 12 and 13 lane departure left and right, 14 forward \
collision, 15 emergency call, 16 power on by app, 17 vehicle in front moved, 18 to 22 modem off (voltage, temperature, \
time, by app, power key), 23 towing
wid@114  | 0               | event: 0 airbag, 1 low battery, 2 wiper
wip      | 0               | wiper: 0 front, 1 rear
wut      | 45              | time of warming up before driving; the unit is the device's
xyz      | "0.1,0.2,1.1"   | acceleration X, acceleration Y, angular velocity Y, separated by commas
"""


class Meaning(NamedTuple):
    """A documented key of a message."""

    example: str
    """A value that it may have, as JSON."""
    text: str


ROWS: Final = {
    name.strip(): Meaning(example.strip(), text.strip())
    for name, example, text in (line.split(" | ", 2) for line in _MEANINGS.strip().splitlines())
}
"""Key -> its meaning; `key@number` is that in messages of this number."""


def meaning(number: int, key: str) -> Meaning:
    """The meaning of the key in messages of this number. Raises KeyError for an undocumented key."""
    return ROWS.get(f"{key}@{number}") or ROWS[key]


def keys(number: int) -> list[str]:
    """The keys of a message of this number in the order of its table; with `em`, which is in no table."""
    others = device_tables.AVN_EVENT if number == 114 else ()  # two events (K5)
    flags = ("em",) if number == device_tables.TRIP_OF[device_tables.OBD] + 1 else ()
    return list(dict.fromkeys([*device_tables.TABLES[number], *others, *flags]))
